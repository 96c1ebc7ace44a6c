#!/bin/bash
# A trillion parameters on 3072 ranks, simulated in ten seconds of one core and
# a GiB.
set -u
. "${srcdir:-.}/tests/mpi/common.sh"

if sanitized; then
    echo "a sanitizer takes more memory"
    exit 77
fi
cat >measure.py <<'END'
import os, resource, subprocess, sys
rc = subprocess.run(sys.argv[1:], check=False).returncode
used = resource.getrusage(resource.RUSAGE_CHILDREN)
seconds = used.ru_utime + used.ru_stime
print(f"{seconds:.1f} s, {used.ru_maxrss / 1024:.0f} MiB", file=sys.stderr)
limit = 10 * int(os.environ["TIME_SCALE"]) / 3
sys.exit(rc or seconds > limit or used.ru_maxrss > 1 << 20)
END
python3 measure.py "$program" --simulate "$srcdir/launch/clusters/dgx-a100.ini" \
    --fp16 --world-size 3072 --model gpt-1t --tensor-model-parallel-size 8 \
    --pipeline-model-parallel-size 64 --micro-batch-size 1 \
    --global-batch-size 3072 --recompute-granularity full >out 2>err \
    || fail "$(cat err)"
grep -q '^time  .* s an iteration: ' out || fail "no time in $(cat out)"
cat err
finish
