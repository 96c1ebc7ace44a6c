# MTLM_CUDA_OPTION: --with-cuda, asked before the choice of the StarPU.
AC_DEFUN([MTLM_CUDA_OPTION], [
  AC_ARG_WITH([cuda],
    [AS_HELP_STRING([--with-cuda@<:@=yes|no|auto|DIR@:>@],
      [CUDA kernels, toolkit in DIR, CUDA_HOME or /usr/local/cuda @<:@auto@:>@])],
    [], [with_cuda=auto])
  AC_ARG_VAR([CUDA_HOME], [CUDA toolkit @<:@/usr/local/cuda@:>@])
  AC_ARG_VAR([NVCC], [CUDA compiler])
  AC_ARG_VAR([CXX], [C++ compiler, for tests that run CUDA kernels without a GPU])
  AC_ARG_VAR([CUDA_ARCHS], [GPU architectures to compile for @<:@80 90@:>@])
])

# mtlm_cuda_lacks(TEXT): no CUDA, which is an error when it was asked for.
AC_DEFUN([MTLM_CUDA_LACKS], [
  have_cuda="no ($1)"
  AS_IF([test "$with_cuda" != auto], [AC_MSG_ERROR([--with-cuda: $1])])
])

# MTLM_CUDA: after MTLM_STARPU; sets HAVE_CUDA, NVCC, NVCC_GENCODE,
# CUDA_CPPFLAGS, CUDA_LIBS, and HAVE_NCCL, HAVE_CUDNN.
AC_DEFUN([MTLM_CUDA], [
  have_cuda=no have_nccl=no have_cudnn=no
  mtlm_save_CPPFLAGS=$CPPFLAGS mtlm_save_LIBS=$LIBS
  AS_IF([test "$with_cuda" != no], [
    AS_CASE([$with_cuda], [yes|auto], [: ${CUDA_HOME:=/usr/local/cuda}],
      [CUDA_HOME=$with_cuda])
    have_cuda=yes
    AC_PATH_PROG([NVCC], [nvcc], [], [$CUDA_HOME/bin:$PATH])
    AS_IF([test -z "$NVCC"], [MTLM_CUDA_LACKS([no nvcc in $CUDA_HOME])])
    AC_CHECK_PROGS([CXX], [g++ c++ clang++])
  ])
  AS_IF([test "$have_cuda" = yes], [
    dnl The compiler looks in /usr/include anyway, behind the headers of C++.
    AS_CASE([$CUDA_HOME], [/usr|/usr/], [CUDA_CPPFLAGS=],
      [CUDA_CPPFLAGS="-isystem $CUDA_HOME/include"])
    CUDA_LIBS="-L$CUDA_HOME/lib64 -Wl,-rpath,$CUDA_HOME/lib64 -lcudart -lstdc++"
    CPPFLAGS="$CPPFLAGS $CUDA_CPPFLAGS $STARPU_CFLAGS"
    dnl cuBLASLt, NCCL and cuDNN are loaded when a process takes a GPU.
    LIBS="-lcublasLt $CUDA_LIBS $LIBS"
    AC_CHECK_HEADER([cublasLt.h], [],
      [MTLM_CUDA_LACKS([no cublasLt.h in $CUDA_HOME/include])])
  ])
  AS_IF([test "$have_cuda" = yes], [
    AC_MSG_CHECKING([for CUDA 13])
    AC_COMPILE_IFELSE([AC_LANG_SOURCE([[
#include <cuda_runtime_api.h>
#if CUDART_VERSION < 13000
#error "too old"
#endif
]])], [AC_MSG_RESULT([yes])], [
      AC_MSG_RESULT([no])
      MTLM_CUDA_LACKS([CUDA 13 is needed])
    ])
  ])
  AS_IF([test "$have_cuda" = yes], [
    AC_CHECK_DECL([STARPU_USE_CUDA], [],
      [MTLM_CUDA_LACKS([this StarPU is built without CUDA])],
      [[#include <starpu_config.h>]])
  ])
  AS_IF([test "$have_cuda" = yes], [
    AC_CHECK_FUNC([cublasLtCreate], [],
      [MTLM_CUDA_LACKS([no cublasLt or cudart in $CUDA_HOME/lib64])])
    AC_CHECK_HEADER([nccl.h], [have_nccl=yes])
    dnl Of cuDNN 9.8 and later: plans are made without a handle.  To run,
    dnl codelets/cudnn/cudnn_graph.c needs 9.11.
    AC_CHECK_DECL([CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP], [have_cudnn=yes], [],
      [[#include <cudnn.h>]])
    AS_IF([test $have_nccl = yes],
      [AC_CHECK_LIB([nccl], [ncclGetVersion], [], [have_nccl=no])])
    AS_IF([test $have_cudnn = yes],
      [AC_CHECK_LIB([cudnn], [cudnnGetVersion], [], [have_cudnn=no])])
  ])
  CPPFLAGS=$mtlm_save_CPPFLAGS LIBS=$mtlm_save_LIBS
  AS_IF([test "$have_cuda" = yes], [
    : ${CUDA_ARCHS="80 90"}
    NVCC_GENCODE=
    for mtlm_arch in $CUDA_ARCHS; do
      NVCC_GENCODE="$NVCC_GENCODE -gencode arch=compute_$mtlm_arch,code=sm_$mtlm_arch"
    done
    AC_DEFINE([HAVE_CUDA], [1], [Define to 1 to build the CUDA kernels.])
    dnl Another toolkit changes config.h, so that make compiles everything anew.
    mtlm_version=`sed -n 's/^.define CUDART_VERSION *//p' "$CUDA_HOME/include/cuda_runtime_api.h" 2>/dev/null`
    AC_DEFINE_UNQUOTED([CUDA_TOOLKIT], ["$CUDA_HOME $mtlm_version"],
      [Place and version of the CUDA toolkit.])
    dnl So do other architectures.
    AC_DEFINE_UNQUOTED([CUDA_ARCHS], ["$CUDA_ARCHS"],
      [GPU architectures to compile for.])
    AS_IF([test $have_nccl = yes], [
      AC_DEFINE([HAVE_NCCL], [1], [Define to 1 if NCCL is there.])])
    AS_IF([test $have_cudnn = yes], [
      AC_DEFINE([HAVE_CUDNN], [1], [Define to 1 if cuDNN is there.])])
  ], [CUDA_CPPFLAGS= CUDA_LIBS=])
  AC_SUBST([NVCC_GENCODE])
  AC_SUBST([CUDA_CPPFLAGS])
  AC_SUBST([CUDA_LIBS])
  AM_CONDITIONAL([HAVE_CUDA], [test "$have_cuda" = yes])
  AM_CONDITIONAL([HAVE_CUDNN], [test "$have_cudnn" = yes && test "$have_cuda" = yes])
  AM_CONDITIONAL([HAVE_NCCL], [test "$have_nccl" = yes && test "$have_cuda" = yes])
])
