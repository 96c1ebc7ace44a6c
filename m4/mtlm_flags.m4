# MTLM_TRY_CFLAGS(VARIABLE, FLAGS): appends to VARIABLE those of FLAGS that
# the C compiler takes, one by one.
AC_DEFUN([MTLM_TRY_CFLAGS], [
  for mtlm_flag in $2; do
    AC_MSG_CHECKING([whether $CC takes $mtlm_flag])
    mtlm_save_CFLAGS=$CFLAGS
    CFLAGS="$CFLAGS -Werror $mtlm_flag"
    AC_COMPILE_IFELSE([AC_LANG_SOURCE([int main(void) { return 0; }])],
      [AC_MSG_RESULT([yes])
       $1="$$1 $mtlm_flag"],
      [AC_MSG_RESULT([no])])
    CFLAGS=$mtlm_save_CFLAGS
  done
])

# MTLM_SYSTEM_INCLUDES(VARIABLE...): turns the option -I into -isystem,
# because the headers of others are not held to our warnings.
AC_DEFUN([MTLM_SYSTEM_INCLUDES], [
  m4_foreach_w([mtlm_var], [$1], [
    mtlm_var=`AS_ECHO(["$mtlm_var"]) | sed 's/^-I */-isystem /; s/ -I */ -isystem /g'`
  ])
])

# MTLM_SANITIZER: --enable-sanitizer[=LIST]; sets SANITIZER (empty: none) and
# SANITIZER_FLAGS, for compiling and for linking.
AC_DEFUN([MTLM_SANITIZER], [
  AC_ARG_ENABLE([sanitizer],
    [AS_HELP_STRING([--enable-sanitizer@<:@=address|undefined|thread@:>@],
      [build with a sanitizer, or several separated by commas
       @<:@no; address,undefined when given without a name@:>@])],
    [], [enable_sanitizer=no])
  AS_CASE([$enable_sanitizer],
    [no], [SANITIZER=],
    [yes], [SANITIZER=address,undefined],
    [SANITIZER=$enable_sanitizer])
  SANITIZER_FLAGS=
  AS_IF([test -n "$SANITIZER"], [
    MTLM_TRY_CFLAGS([SANITIZER_FLAGS],
      [-fsanitize=$SANITIZER -fno-omit-frame-pointer])
    AS_CASE([$SANITIZER_FLAGS], [*-fsanitize=*], [],
      [AC_MSG_ERROR([--enable-sanitizer=$SANITIZER: $CC does not know it])])
  ])
  # The thread sanitizer cannot live with random addresses.
  TEST_PREFIX=
  AS_CASE([$SANITIZER], [*thread*], [TEST_PREFIX="setarch -R"])
  AC_SUBST([TEST_PREFIX])
  AC_SUBST([SANITIZER])
  AC_SUBST([SANITIZER_FLAGS])
])
