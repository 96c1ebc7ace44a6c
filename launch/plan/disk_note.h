#ifndef MTLM_DISK_NOTE_H
#define MTLM_DISK_NOTE_H

/* Returns a sentence on the directory of --offload-dir that lies on no disk of
 * this machine: on memory, or behind a network or a program.  The caller frees
 * the sentence.  NULL: dir lies on a disk, as far as is known. */
char *mtlm_disk_note(const char *dir);

#endif /* MTLM_DISK_NOTE_H */
