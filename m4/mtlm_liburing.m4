# MTLM_LIBURING: liburing, for --offload on fast disks.  Sets LIBURING_LIBS and
# have_liburing (a text).
AC_DEFUN([MTLM_LIBURING], [
  have_liburing="no (install liburing-dev; then several requests to a disk at once)"
  LIBURING_LIBS=
  AC_CHECK_HEADER([liburing.h], [
    AC_CHECK_LIB([uring], [io_uring_submit_and_wait], [
      have_liburing=yes
      LIBURING_LIBS=-luring
      AC_DEFINE([HAVE_LIBURING], [1], [Define to 1 if liburing is there.])
    ])
  ])
  AC_SUBST([LIBURING_LIBS])
])
