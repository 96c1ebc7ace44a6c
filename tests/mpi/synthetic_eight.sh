#!/bin/bash
# Synthetic runs of eight ranks, on however few cores, as tests/mpi/synthetic.sh
# has two and four.
set -u
. "${srcdir:-.}/tests/mpi/common.sh"
. "${srcdir:-.}/tests/mpi/synthetic_common.sh" || exit

cluster uniform.ini 60
#        limit p v m name  until B           until W
if full_tier; then
    schedule 5 8 1 8 1f1b  '8 7 6 5 4 3 2 1' '8 7 6 5 4 3 2 1'
fi
schedule 8     8 1 8 zb-h1 '8 7 6 5 4 3 2 1' '8 8 8 8 8 8 8 8'

finish_compared
