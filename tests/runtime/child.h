#ifndef MTLM_TESTS_CHILD_H
#define MTLM_TESTS_CHILD_H

/* Runs run(arg) in a process of its own, which ends with what it returns,
 * after 20 seconds by SIGALRM; the status that waitpid() has of it, and what
 * it says to stderr, cut, in text. */
int child_status(int (*run)(const void *arg), const void *arg, char text[256]);

#endif /* MTLM_TESTS_CHILD_H */
