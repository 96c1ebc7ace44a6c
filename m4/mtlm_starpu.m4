# MTLM_STARPU: --with-starpu=DIR; sets STARPU_CFLAGS, STARPU_LIBS (with rpath),
# STARPU_LIBDIR, STARPU_PREFIX and the conditional STARPU_IN_CACHE: whether
# launch/setup built it, in whichever cache.  Looked for in DIR, else where
# pkg-config looks, else where launch/setup builds it.  Also sets mtlm_cache,
# and mtlm_mark, a file of each finished build there.
AC_DEFUN([MTLM_STARPU], [
  AC_ARG_WITH([starpu],
    [AS_HELP_STRING([--with-starpu=DIR],
      [StarPU 1.4 installed in DIR @<:@pkg-config, then the build of launch/setup@:>@])],
    [], [with_starpu=check])
  mtlm_cache=${XDG_CACHE_HOME:-$HOME/.cache}/mtlm-dag
  mtlm_mark=.mtlm-recipe-`sed -n 's/^STARPU_RECIPE=//p' "$srcdir/launch/setup.d/starpu.sh"`
  mtlm_starpu_dirs=
  AS_CASE([$with_starpu],
    [yes|check], [AS_IF([! $PKG_CONFIG --exists starpu-1.4], [
        mtlm_starpu_dirs="$mtlm_cache/starpu-1.4*-cpu $mtlm_cache/starpu-1.4*-cuda"
        AS_IF([test "$with_cuda" != no], [
          mtlm_starpu_dirs="$mtlm_cache/starpu-1.4*-cuda $mtlm_cache/starpu-1.4*-cpu"
        ])
      ])],
    [no], [AC_MSG_ERROR([StarPU is not optional])],
    [mtlm_starpu_dirs=$with_starpu mtlm_starpu_mark=.])
  mtlm_starpu_found=
  for mtlm_dir in $mtlm_starpu_dirs; do
    for mtlm_pc in "$mtlm_dir"/lib/pkgconfig "$mtlm_dir"/lib/*/pkgconfig "$mtlm_dir"/lib64/pkgconfig; do
      AS_IF([test -r "$mtlm_pc/starpu-1.4.pc" && test -e "$mtlm_dir/${mtlm_starpu_mark:-$mtlm_mark}"], [
        PKG_CONFIG_PATH=$mtlm_pc${PKG_CONFIG_PATH:+:$PKG_CONFIG_PATH}
        export PKG_CONFIG_PATH
        mtlm_starpu_found=yes
        break 2
      ])
    done
  done
  AS_IF([test -n "$mtlm_starpu_mark" && test -z "$mtlm_starpu_found"],
    [AC_MSG_ERROR([--with-starpu=$with_starpu: no lib/pkgconfig/starpu-1.4.pc below it])])
  PKG_CHECK_MODULES([STARPU], [starpu-1.4], [], [
    AC_MSG_ERROR([no StarPU 1.4 found: run launch/setup, or give --with-starpu=DIR])])
  STARPU_PREFIX=`$PKG_CONFIG --variable=prefix starpu-1.4`
  STARPU_LIBDIR=`$PKG_CONFIG --variable=libdir starpu-1.4`
  STARPU_VERSION=`$PKG_CONFIG --modversion starpu-1.4`
  STARPU_LIBS="$STARPU_LIBS -Wl,-rpath,$STARPU_LIBDIR"
  MTLM_SYSTEM_INCLUDES([STARPU_CFLAGS])
  AM_CONDITIONAL([STARPU_IN_CACHE],
    [ls "$STARPU_PREFIX"/.mtlm-recipe-* >/dev/null 2>&1])
  AC_SUBST([STARPU_PREFIX])
  AC_SUBST([STARPU_LIBDIR])
])
