#!/bin/bash
# mtlm-convert: weights in Hugging Face's and llm.c's files, written by
# tests/reference/huggingface.py, have PyTorch's logits here in any layout, and
# trained ones have ours there; to there and back no bit changes; what is
# damaged, foreign or in the way is said in a sentence.
set -u
. "${srcdir:-.}/tests/mpi/common.sh"
tree=$(cd "$OLDPWD" && cd "${srcdir:-.}" && pwd)
python=${PYTHON:-python3}
reference=$tree/tests/reference/huggingface.py
convert=${program%/*}/mtlm-convert

if ! "$python" -c 'import numpy, torch' 2>/dev/null; then
    echo "skipped: $python has no PyTorch"
    exit 77
fi

# converts INPUT OUTPUT: and it ends well; what it says to load a checkpoint of
# ours goes to the file OUTPUT.options.
converts() {
    "$convert" --input "$1" --output "$2" >said 2>err </dev/null \
        || fail "$1 to $2: exit code $?, $(cat err)"
    sed -n 's/^to evaluate: \(--load [^ ]*\) --eval-only .*/\1/p' said \
        >"${2%/}.options"
}

model=(--num-layers 2 --hidden-size 64 --num-attention-heads 4
    --seq-length 48 --max-position-embeddings 64 --vocab-size 300
    --micro-batch-size 4 --global-batch-size 4 --train-iters 1 --lr 1e-3
    --eval-iters 0 --hidden-dropout 0 --attention-dropout 0)
bert=(--model-type bert --ffn-hidden-size 96 --layernorm-epsilon 1e-12)
# Of samples that are cut in two, several microbatches, and no training.
look=(--eval-only --mock-data --seq-length 60 --micro-batch-size 5
    --global-batch-size 10 --eval-iters 2)

# evaluates NAME DIR RANKS OPTION...: the weights NAME.ck by the options that
# the conversion said; the logits go to DIR.
evaluates() {
    local name=$1 to=$2 ranks=$3 options
    shift 3
    read -ra options <"$name.ck.options"
    well "$ranks" "${options[@]}" "${look[@]}" "$@" --dump-logits "$to"
}

"$python" "$reference" write . || fail "nothing is written"
for name in gpt shards gpt16 bert bertshards masked gpt.bin gpt16.bin; do
    converts "$name" "$name.ck"
done
for name in '' bert; do
    cmp "${name:-gpt}".ck/iter_0000000/*.safetensors \
        "${name}shards.ck"/iter_0000000/*.safetensors \
        || fail "${name:-gpt} in several files: other tensors"
done
for name in gpt gpt16; do
    cmp "$name.ck"/iter_0000000/*.safetensors \
        "$name.bin.ck"/iter_0000000/*.safetensors \
        || fail "$name from llm.c: other tensors"
done

two=(--tensor-model-parallel-size 2)
four=("${two[@]}" --pipeline-model-parallel-size 2)
evaluates gpt gpt.1 1
evaluates gpt gpt.4 4 "${four[@]}"
evaluates gpt gpt.bf16 1 --bf16
evaluates gpt.bin gpt.bin.1 1
evaluates gpt16 gpt16.2 2
evaluates bert bert.1 1
evaluates bert bert.4 4 "${four[@]}" --sequence-parallel
evaluates masked masked.1 1
job 1 "${model[@]}" --load gpt.ck --finetune "${look[@]}" --dump-logits gpt.1
[ "$rc" -eq 4 ] && grep -q 'gpt.1: holds rank-.* already; --dump-logits' err \
    || fail "logits mixed with others: exit code $rc: $(cat err)"
mkdir bert.back # an empty directory will do
for name in gpt bert masked; do
    converts "$name.ck" "$name.back/"
done
"$python" "$reference" compare gpt=gpt.1 gpt=gpt.4 gpt~gpt.bf16 gpt=gpt.bin.1 \
    gpt16=gpt16.2 bert=bert.1 bert=bert.4 masked=masked.1 \
    gpt==gpt.back bert==bert.back masked==masked.back \
    >compared 2>&1 || fail "$(cat compared)"

# A directory that is there may be the working directory, which nothing replaces.
mkdir here
(cd here && "$convert" --input ../gpt.ck --output . --max-shard-size 100KB \
    >../said 2>../err </dev/null) || fail "to the working directory: $(cat err)"
{ [ -e here/model.safetensors.index.json ] && [ ! -e here/export.tmp ]; } \
    || fail "to the working directory: $(ls -A here)"
converts here here.ck
cmp gpt.ck/iter_0000000/*.safetensors here.ck/iter_0000000/*.safetensors \
    || fail "to the working directory and back: other tensors"

# In bf16: about half of the bytes, and the logits that the file has there.
"$convert" --input gpt.ck --output gpt.short --torch-dtype bfloat16 \
    >said 2>err </dev/null || fail "to bf16: exit code $?, $(cat err)"
[ $((3 * $(stat -c %s gpt.short/model.safetensors))) -lt \
    $((2 * $(stat -c %s gpt.back/model.safetensors))) ] \
    || fail "to bf16: $(stat -c '%n %s' gpt.short/* gpt.back/*)"
converts gpt.short gpt.short.ck
evaluates gpt.short gpt.short.1 1
"$python" "$reference" compare gpt.short=gpt.short.1 gpt~gpt.short.1 \
    >compared 2>&1 || fail "to bf16: $(cat compared)"

# What training saved in two halves, the vocabulary padded, and --bf16: its
# masters in fp32 have there the logits that they have here.
well 2 "${two[@]}" "${model[@]}" --bf16 --load gpt.ck --finetune \
    --save trained --no-save-optim
converts trained there
converts there again
/usr/bin/python3 "$tree/tests/mpi/checkpoint_same.py" 300 \
    trained/iter_0000001 again/iter_0000000 >same 2>&1 \
    || fail "trained, there and back: $(cat same)"
well 1 "${model[@]}" --load trained --finetune "${look[@]}" \
    --dump-logits trained.1
"$python" "$reference" compare there=trained.1 >compared 2>&1 \
    || fail "trained: $(cat compared)"
cmp -s again/iter_0000000/*.safetensors gpt.ck/iter_0000000/*.safetensors \
    && fail "the training changed nothing"

# refused CODE INPUT OUTPUT WORDS...: nothing is left of OUTPUT.
refused() {
    local code=$1 input=$2 output=$3 rc
    shift 3
    timeout $((60 * TIME_SCALE)) "$convert" --input "$input" --output "$output" >said 2>err </dev/null
    rc=$?
    check_refusal "$input" "$code" "$@"
    [ "$output" != none ] || [ "$(ls -d none* 2>/dev/null)" = '' ] \
        || fail "$input: left $(ls -d none*)"
}

# change SED_EXPRESSION FROM TO: in the header, which keeps its length.
change() {
    rm -rf "$3" && cp -r "$2" "$3" && LC_ALL=C sed -i "$1" "$3/model.safetensors"
}
change 's/h\.1\.ln_2\.bias"/h.1.ln_2.bios"/' gpt missing
refused 3 missing none 'tensor "transformer.h.1.ln_2.bias" of [64], found none'
sed 's/"n_positions": 64/"n_positions": 65/' gpt/config.json >config
cp -r gpt other && cp config other/config.json
refused 3 other none '"transformer.wpe.weight": expected a shape of [65, 64], found [64, 64]'
sed 's/"n_layer": 2/"n_layer": 1/' gpt/config.json >other/config.json
refused 3 other none 'tensors of 1 layers, found some of 2'
sed 's/"n_head": 4/"scale_attn_by_inverse_layer_idx": 1, &/' gpt/config.json \
    >other/config.json
refused 3 other none 'scale_attn_by_inverse_layer_idx: expected false' \
    'found 1'
sed 's/"n_head": 4/"n_head": 5/' gpt/config.json >other/config.json
refused 3 other none '64 is not a multiple of --num-attention-heads 5'
sed 's/"gpt2"/"llama"/' gpt/config.json >other/config.json
refused 3 other none 'expected gpt2, megatron-bert or bloom, found llama'
sed 's/"gelu_fast"/"relu"/' gpt/config.json >other/config.json
refused 3 other none 'activation_function' 'found relu'
sed 's/"layer_norm_epsilon": 1e-05/"layer_norm_epsilon": -1/' gpt/config.json \
    >other/config.json
refused 3 other none 'layer_norm_epsilon: expected a number from 1e-12 to 0.1'
echo '{' >other/config.json
refused 3 other none 'other/config.json: line'
for name in config.json model.safetensors.index.json; do
    cp -r shards odd && cp gpt/config.json odd && rm odd/$name && mkfifo odd/$name
    refused 3 odd none "odd/$name: not a regular file"
    rm odd/$name && : >odd/$name
    refused 3 odd none "odd/$name: the file is empty"
    truncate -s 1T odd/$name && refused 3 odd none "odd/$name: line 1"
    rm -r odd
done
cp gpt/config.json other
head -c -64 gpt/model.safetensors >other/model.safetensors
refused 3 other none 'other/model.safetensors'
cp gpt/model.safetensors other # the last tensor is the output layer
printf 'abcd' | dd of=other/model.safetensors bs=1 conv=notrunc 2>dd \
    seek=$(($(stat -c %s other/model.safetensors) - 4))
refused 3 other none '"lm_head.weight" differs from "transformer.wte.weight"'
# A NaN.
cp gpt/model.safetensors other
at=$("$python" - other/model.safetensors <<'END'
import json, struct, sys
with open(sys.argv[1], "rb") as file:
    size, = struct.unpack("<Q", file.read(8))
    tensors = json.loads(file.read(size))
print(8 + size + tensors["transformer.h.1.ln_2.bias"]["data_offsets"][0])
END
)
printf '\0\0\300\177' | dd of=other/model.safetensors bs=1 conv=notrunc 2>dd \
    seek="$at"
refused 3 other none 'other: damaged weights: 1 of the 64 elements of' \
    'are infinite or NaN'
mkdir vacant
refused 3 other vacant 'other: damaged weights'
[ -z "$(ls -A vacant)" ] || fail "a failed import leaves $(ls -A vacant)"
rm other/model.safetensors && touch other/pytorch_model.bin
refused 3 other none 'found neither: pytorch_model.bin is a pickle'
sed 's/"model-00001-of/"..\/model-00001-of/' \
    shards/model.safetensors.index.json >index && cp -r shards outside \
    && mv index outside/model.safetensors.index.json
refused 3 outside none 'expected the name of a file beside it, found ../model'
# with INDEX: a directory as shards, but for that.
with() {
    rm -rf several && cp -r shards several \
        && printf '%s' "$1" >several/model.safetensors.index.json
}
with '{"weight_map": ["wte.weight"]}'
refused 3 several none 'expected an object "weight_map", found none'
with '{"weight_map": {"wte.weight": "model-00001-of-00002'
refused 3 several none 'model.safetensors.index.json: line 1'
with '{"weight_map": {"ln_x": "model-00001-of-00002.safetensors"}}'
refused 3 several none '"ln_x" in model-00001-of-00002.safetensors, found none'
with '{"weight_map": {"wte.weight": "\u001b[2J\n"}}'
refused 3 several none 'several/?[2J?: No such file'
rm -r several && cp -r shards several
cp several/model-00002-of-00002.safetensors several/model-00001-of-00002.safetensors
refused 3 several none 'in model-00001-of-00002.safetensors, found none'
with '{"weight_map": {"h.0.attn.bias": "model-00001-of-00002.safetensors",
    "h.0.attn.c_attn.weight": "model-00002-of-00002.safetensors"}}'
cp several/model-00001-of-00002.safetensors several/model-00002-of-00002.safetensors
refused 3 several none 'tensor "h.0.attn.bias" is in two of its files'
rm shards/model-00002-of-00002.safetensors
refused 3 shards none 'shards/model-00002-of-00002.safetensors'
refused 3 err none 'err: expected a directory of' 'pickles'
change 's/cls\.predictions\.bias"/cls.predictions.bios"/' bert missing
refused 3 missing none 'tensor "cls.predictions.bias" of [300], found none'
change 's/"dtype": "F32"/"dtype": "I32"/g' bert missing
refused 3 missing none 'expected F32, F16, BF16 or F64, found I32'
# word INDEX BYTES: word.bin is gpt.bin with these in that word of its header.
word() {
    cp gpt.bin word.bin
    printf "$2" | dd of=word.bin bs=4 seek="$1" conv=notrunc 2>dd
}
word 0 '\0\0\0\0'
refused 3 word.bin none 'a model file of llm.c (magic 20240326'
word 1 '\4\0\0\0'
refused 3 word.bin none 'version 3 or 5'
word 4 '\0\0\0\200'
refused 3 word.bin none 'header word 4: expected 1 or more, found -2147483648'
word 4 '\377\377\377\177'
refused 3 word.bin none 'word.bin: ' '2147483647'
word 5 '\5\0\0\0'
refused 3 word.bin none '64 is not a multiple of --num-attention-heads 5'
word 7 '\200\0\0\0'
refused 3 word.bin none 'a padded vocabulary of 300 or more, found 128'
head -c -4 gpt.bin >short.bin
refused 3 short.bin none "expected $(stat -c %s gpt.bin) bytes"
refused 3 nowhere none 'nowhere: there is no such file'
mkdir empty
refused 3 empty none 'config.json'
rm trained/iter_0000001/rank-00001.safetensors
refused_newest() {
    "$convert" --input trained --output none >said 2>err
    [ $? -eq 3 ] && [ ! -e none ] && grep -q 'none of its checkpoints is whole' err \
        || fail "damaged: $(cat err)"
}
refused_newest
refused 2 gpt bert.ck 'bert.ck/iter_0000000 exists'
[ -e bert.ck/lock ] || fail "a refused import removes the lock that was there"
# Before anything is written: gpt.tmp would be in the way.
mkdir gpt.tmp && ln -s empty link
refused 2 gpt.ck gpt 'gpt exists and is not an empty directory'
refused 2 gpt.ck link 'link is a link; choose a directory'
rmdir gpt.tmp
mkdir fresh.tmp
refused 4 gpt.ck fresh 'fresh.tmp exists: a conversion runs, or was killed'
[ ! -e fresh ] || fail "beside fresh.tmp: left $(ls -A fresh)"
rmdir fresh.tmp
refused 4 gpt said/x 'said/x: cannot be made'
well 1 "${model[@]}" --apply-residual-connection-post-layernorm "${bert[@]}" \
    --mock-data --save post
refused 2 post none 'Hugging Face has no model with --apply-residual'
job 1 "${model[@]}" --load gpt.ck --finetune --num-layers 3
[ "$rc" -eq 2 ] && grep -q 'saved with --num-layers 2, this job has 3' err \
    || fail "another model: exit code $rc: $(cat err)"
job 1 "${model[@]}" --load gpt.ck --finetune --layernorm-epsilon 1e-6
[ "$rc" -eq 2 ] && grep -q 'layernorm-epsilon 1e-05, this job has 1e-06' err \
    || fail "another epsilon: exit code $rc: $(cat err)"

# A BERT with both GELUs, which Hugging Face's has not, says so.
well 1 "${model[@]}" "${bert[@]}" --mock-data --save two
converts two two.there
grep -q 'logits differ slightly in transformers' said || fail "two GELUs: $(cat said)"
converts masked.ck one.there
grep -q 'differ' said && fail "one GELU: $(cat said)"

# Special tokens are those of the checkpoint's tokenizer.
cat >special.py <<'END'
import json, sys
if sys.argv[1] == "write":
    # GPT-2's characters for the bytes, in another order.
    kept = [b for b in range(256) if 33 <= b < 127 or 161 <= b < 173 or b > 173]
    tokens = [chr(b) for b in kept] + [chr(i) for i in range(256, 512 - len(kept))]
    tokens.insert(int(sys.argv[2]), "<|endoftext|>")
    json.dump({t: i for i, t in enumerate(tokens)}, open("vocab.json", "w"))
    open("merges.txt", "w").write("#version: 0.2\n")
    open("vocab.txt", "w").write("a\n[UNK]\n[CLS]\n[PAD]\n[SEP]\n[MASK]\n##a\n")
else:
    config = json.load(open(sys.argv[1] + "/config.json"))
    print(*(config.get(name + "_token_id", "-") for name in ("bos", "eos", "pad")))
END
"$python" special.py write 0
# special DIR WANT: the numbers of the tokens in DIR/config.json.
special() {
    [ "$("$python" special.py "$1")" = "$2" ] \
        || fail "$1: special tokens $("$python" special.py "$1"), not $2"
}
well 1 "${model[@]}" --mock-data --vocab-size 257 --vocab-file vocab.json \
    --merge-file merges.txt --save bpe --no-save-optim
converts bpe bpe.there
special bpe.there '0 0 -'
special gpt.back 'None None -' # the tokenizer is unknown
mv merges.txt elsewhere.txt
converts bpe moved.there
special moved.there 'None None -'
grep -q '^mtlm-convert: config.json names no special token: .*merges.txt' err \
    || fail "no merges: $(cat err)"
mv elsewhere.txt merges.txt && "$python" special.py write 9
converts bpe other.there
special other.there 'None None -'
grep -q 'no special token: the tokenizer of the training was GPT2BPE' err \
    || fail "another vocabulary: $(cat err)"
well 1 "${model[@]}" "${bert[@]}" --mock-data --vocab-file vocab.txt \
    --tokenizer-type BertWordPieceCase --vocab-size 7 --save words
converts words words.there
special words.there '- - 3'

# A disk that is full leaves nothing behind.
(
    failures=0
    ulimit -f 100 || exit
    refused 4 gpt none 'rank-00000.safetensors'
    refused 4 gpt.ck none 'model.safetensors'
    refused 4 gpt.ck vacant 'vacant/export.tmp/model.safetensors'
    exit "$failures"
) || fail "a full disk"
[ -z "$(ls -A vacant)" ] || fail "a full disk: left $(ls -A vacant)"

# A signal ends a file between two of its tensors, before the disk is full.
# stopped INPUT
stopped() {
    (ulimit -f 100 && exec env LD_PRELOAD="${program%/*}/tests/mpi/slow_disk.so" \
        SLOW_PATH=/none SLOW_OPEN=$((1000 * TIME_SCALE)) "$convert" --input "$1" --output "$PWD/none" \
        >said 2>err </dev/null) &
    within 60 compgen -G 'none*' >/dev/null || fail "$1: nothing begun"
    kill -TERM $!
    wait $!
    rc=$?
    [ $rc -eq 143 ] && grep -q '^mtlm-convert: stopped by Terminated$' err \
        && [ "$(ls -d none* 2>/dev/null)" = '' ] \
        || fail "$1, stopped: exit code $rc, $(ls -d none*), $(cat err)"
}
sanitized || for name in gpt gpt.ck; do
    stopped "$name"
done

# A signal ends the check of a checkpoint at once: nothing is written yet.
# The disk holds the weights back until the gate closes.  The gate is opened for both
# ways, which waits for nobody: the conversion may end before it comes there.
at_gate() {
    find "/proc/$1/fd" -lname '*/gate' | grep -q .
}
stopped_early() {
    local pid
    mkfifo gate
    env LD_PRELOAD="${program%/*}/tests/mpi/slow_disk.so" \
        SLOW_PATH=/rank-00000 SLOW_OPEN="$PWD/gate" "$convert" \
        --input gpt.ck --output none >said 2>err </dev/null &
    pid=$!
    exec 3<>gate
    within 60 at_gate "$pid" || fail "the check opens no weights: $(cat err)"
    kill -TERM "$pid"
    wait "$pid"
    rc=$?
    exec 3>&-
    [ $rc -eq 143 ] && [ "$(ls -d none* 2>/dev/null)" = '' ] \
        || fail "stopped in the check: exit code $rc, $(ls -d none*), $(cat err)"
}
sanitized || stopped_early

finish
