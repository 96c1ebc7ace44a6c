# MTLM_ONEDNN: oneDNN 2, for products of bf16 matrices on CPUs; and whether the
# compiler knows AMX, for our own.  Sets ONEDNN_LIBS, have_onednn (a text),
# HAVE_AMX and the condition HAVE_ONEDNN.  A call must
# be able to keep to its own thread: oneDNN with OpenMP, or with no threads.
AC_DEFUN([MTLM_ONEDNN], [
  have_onednn="no (install libdnnl-dev; then --bf16 is faster than fp32 on CPUs with AMX or AVX512_BF16)"
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
  AC_MSG_CHECKING([whether $CC knows AMX])
  AC_LINK_IFELSE([AC_LANG_PROGRAM([[
    #include <immintrin.h>
    #pragma GCC target("amx-tile,amx-bf16,avx512f,avx512bw,avx512vl,avx512bf16")
    __attribute__((noinline)) static int multiply(void)
    {
      _tile_dpbf16ps(0, 1, 2);
      _tile_release();
      return ((__m512i) _mm512_cvtne2ps_pbh(_mm512_setzero_ps(), _mm512_setzero_ps()))[0] != 0;
    }
    #pragma GCC reset_options
  ]], [[return multiply();]])], [
    AC_MSG_RESULT([yes])
    AC_DEFINE([HAVE_AMX], [1], [Define to 1 if the compiler knows AMX.])
  ], [AC_MSG_RESULT([no])])
  AC_SUBST([ONEDNN_LIBS])
  AM_CONDITIONAL([HAVE_ONEDNN], [test "$have_onednn" = yes])
])
