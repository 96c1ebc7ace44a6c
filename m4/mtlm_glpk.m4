# MTLM_GLPK: GLPK, for --bound lp.  Sets GLPK_LIBS and have_glpk (a text).
AC_DEFUN([MTLM_GLPK], [
  have_glpk="no (install libglpk-dev; then --bound lp)"
  GLPK_LIBS=
  AC_CHECK_HEADER([glpk.h], [
    AC_CHECK_LIB([glpk], [glp_simplex], [
      have_glpk=yes
      GLPK_LIBS=-lglpk
      AC_DEFINE([HAVE_GLPK], [1], [Define to 1 if GLPK is there.])
    ])
  ])
  AC_SUBST([GLPK_LIBS])
])
