# MTLM_STARPU_SIMGRID: --with-starpu-simgrid=DIR, a second StarPU for
# mtlm-dag-sim.  Sets STARPU_SIMGRID_CFLAGS, STARPU_SIMGRID_LIBS (with rpath),
# STARPU_SIMGRID_PREFIX, STARPU_SIMGRID_LIBDIR, have_simgrid (a text) and the
# conditionals HAVE_SIMGRID and STARPU_SIMGRID_IN_CACHE.  Looked for in DIR,
# else where launch/setup --simgrid builds it.  Call it after MTLM_STARPU.
AC_DEFUN([MTLM_STARPU_SIMGRID], [
  AC_ARG_WITH([starpu-simgrid],
    [AS_HELP_STRING([--with-starpu-simgrid=DIR],
      [StarPU 1.4 with SimGrid installed in DIR, for --simulate-engine starpu
       @<:@the build of launch/setup --simgrid@:>@])],
    [], [with_starpu_simgrid=check])
  mtlm_simgrid_mark=$mtlm_mark
  AS_CASE([$with_starpu_simgrid],
    [yes|check], [mtlm_simgrid_dirs="$mtlm_cache/starpu-1.4*-sim"],
    [no], [mtlm_simgrid_dirs=],
    [mtlm_simgrid_dirs=$with_starpu_simgrid mtlm_simgrid_mark=.])
  STARPU_SIMGRID_PREFIX=
  for mtlm_dir in $mtlm_simgrid_dirs; do
    for mtlm_pc in "$mtlm_dir"/lib/pkgconfig "$mtlm_dir"/lib/*/pkgconfig "$mtlm_dir"/lib64/pkgconfig; do
      AS_IF([test -r "$mtlm_pc/starpu-1.4.pc" && test -e "$mtlm_dir/$mtlm_simgrid_mark" \
          && grep -q '^#define STARPU_SIMGRID 1' "$mtlm_dir"/include/starpu/1.4/starpu_config.h], [
        STARPU_SIMGRID_PREFIX=$mtlm_dir
        mtlm_simgrid_pc=$mtlm_pc
      ])
    done
  done
  have_simgrid="no (launch/setup --simgrid; then --simulate-engine starpu)"
  # SimGrid switches stacks, which sanitizers do not follow.
  AS_IF([test -n "$SANITIZER"], [
    STARPU_SIMGRID_PREFIX=
    with_starpu_simgrid=no
    have_simgrid="no (SimGrid runs under no sanitizer)"
  ])
  AS_IF([test -n "$STARPU_SIMGRID_PREFIX"], [
    STARPU_SIMGRID_LIBDIR=`PKG_CONFIG_PATH=$mtlm_simgrid_pc $PKG_CONFIG --variable=libdir starpu-1.4`
    STARPU_SIMGRID_CFLAGS=`PKG_CONFIG_PATH=$mtlm_simgrid_pc $PKG_CONFIG --cflags starpu-1.4`
    STARPU_SIMGRID_LIBS="`PKG_CONFIG_PATH=$mtlm_simgrid_pc $PKG_CONFIG --libs starpu-1.4` -Wl,-rpath,$STARPU_SIMGRID_LIBDIR"
    MTLM_SYSTEM_INCLUDES([STARPU_SIMGRID_CFLAGS])
    have_simgrid="yes ($STARPU_SIMGRID_PREFIX)"
  ], [
    AS_CASE([$with_starpu_simgrid], [check|no], [],
      [AC_MSG_ERROR([no StarPU 1.4 with SimGrid in '$mtlm_simgrid_dirs': run launch/setup --simgrid])])
  ])
  AM_CONDITIONAL([HAVE_SIMGRID], [test -n "$STARPU_SIMGRID_PREFIX"])
  AM_CONDITIONAL([STARPU_SIMGRID_IN_CACHE],
    [ls "$STARPU_SIMGRID_PREFIX"/.mtlm-recipe-* >/dev/null 2>&1])
  AC_SUBST([STARPU_SIMGRID_PREFIX])
  AC_SUBST([STARPU_SIMGRID_LIBDIR])
  AC_SUBST([STARPU_SIMGRID_CFLAGS])
  AC_SUBST([STARPU_SIMGRID_LIBS])
])
