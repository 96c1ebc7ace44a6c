#!/bin/bash
# Tokenizers by tokenizer.json against the library tokenizers, which trains and
# runs them (tokenizer_library.py).
set -u
tree=$(cd "${srcdir:-.}" && pwd)
. "$tree/tests/mpi/peers.sh"
need_peers tokenizers transformers
exec "$peers" "$tree/tests/models/tokenizer_library.py"
