# MTLM_ONEDNN: oneDNN 2, for products of bf16 matrices on CPUs.  Sets
# ONEDNN_LIBS, have_onednn (a text) and the condition HAVE_ONEDNN.  A call must
# be able to keep to its own thread: oneDNN with OpenMP, or with no threads.
AC_DEFUN([MTLM_ONEDNN], [
  have_onednn="no (install libdnnl-dev; then --bf16 is faster than fp32 on CPUs with AVX512_BF16)"
  ONEDNN_LIBS=
  AC_CHECK_HEADER([oneapi/dnnl/dnnl.h], [
    AC_CHECK_LIB([dnnl], [dnnl_matmul_desc_init], [
      AC_MSG_CHECKING([whether a product of oneDNN keeps to its thread])
      AC_COMPILE_IFELSE([AC_LANG_PROGRAM([[
        #include <oneapi/dnnl/dnnl.h>
        #include <oneapi/dnnl/dnnl_config.h>
        #if DNNL_CPU_RUNTIME != DNNL_RUNTIME_OMP && DNNL_CPU_RUNTIME != DNNL_RUNTIME_SEQ
        #error
        #endif
      ]])], [
        AC_MSG_RESULT([yes])
        have_onednn=yes
        ONEDNN_LIBS=-ldnnl
        AC_DEFINE([HAVE_ONEDNN], [1], [Define to 1 if oneDNN 2 is there.])
      ], [AC_MSG_RESULT([no])])
    ])
  ])
  AC_SUBST([ONEDNN_LIBS])
  AM_CONDITIONAL([HAVE_ONEDNN], [test "$have_onednn" = yes])
])
