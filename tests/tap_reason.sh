#!/bin/bash
# tests/tap.sh: the line of a skipped test says why.
set -u
said=$(bash "${srcdir:-.}/tests/tap.sh" printf '%s\n' '1..3' \
    '# no mtlm-dag-sim' 'not ok 1 # SKIP test_policies' 'ok 2 - test_graph' \
    'not ok 3 # SKIP test_more')
want='1..3
# no mtlm-dag-sim
ok 1 # SKIP test_policies: no mtlm-dag-sim
ok 2 - test_graph
ok 3 # SKIP test_more'
[ "$said" = "$want" ] && exit 0
echo "FAILED: $said"
exit 1
