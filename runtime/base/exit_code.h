#ifndef MTLM_EXIT_CODE_H
#define MTLM_EXIT_CODE_H

/* Exit codes of the process: name, code, meaning.  The manual page's list and
 * mtlm_error.code are made from this table. */
#define MTLM_EXIT_LIST(EXIT)                                                   \
    EXIT(OK, 0, "done")                                                        \
    EXIT(USAGE, 2, "wrong option, configuration or layout")                    \
    EXIT(INPUT, 3, "bad input file")                                           \
    EXIT(IO, 4, "a file or standard output could not be read or written")      \
    EXIT(NUMERIC, 5, "NaN or infinity in the loss or the gradients")           \
    EXIT(RESOURCE, 6, "not enough memory, or a size beyond a limit")           \
    EXIT(PEER, 7, "a peer was lost or hung, or a library call failed")         \
    EXIT(INTERRUPTED, 75,                                                      \
         "stopped by a signal between two iterations or in a validation, "     \
         "or a text by SIGUSR1")

enum mtlm_exit {
#define EXIT(name, code, meaning) MTLM_EXIT_##name = code,
    MTLM_EXIT_LIST(EXIT)
#undef EXIT
};

#endif /* MTLM_EXIT_CODE_H */
