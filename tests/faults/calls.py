"""The calls on files that may go wrong, and how (inject.c)."""
CHANGES = ("open", "write", "pwrite", "ftruncate", "fsync", "close", "rename",
           "mkdir", "mknod", "unlink", "unlinkat", "rmdir")
# The calls that change nothing (inject_looks.c).
LOOKS = ("stat", "fstat", "statvfs", "access", "opendir", "readdir", "flock",
         "read", "pread", "mmap")
# POSIX lets a signal interrupt these; flock is not in POSIX, but does so, and
# opendir opens.
INTERRUPTIBLE = {"open", "write", "pwrite", "ftruncate", "fsync", "close",
                 "read", "pread", "statvfs", "flock", "opendir"}
MODES = {  # and the calls for which it means something
    "kill": None, "enospc": CHANGES, "eio": None,
    "short": {"write", "pwrite", "read", "pread"}, "eintr": INTERRUPTIBLE,
    "stickyenospc": CHANGES}
