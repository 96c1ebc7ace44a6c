#!/bin/bash
# mtlm-preprocess from end to end: what it writes, read by a reader of its own
# (Python's struct, from the format's description), and what it refuses.
set -u

preprocess=${builddir:-.}/mtlm-preprocess
python=${PYTHON:-python3}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
failures=0

fail()
{
    echo "FAILED: $*"
    failures=$((failures + 1))
}

# expect CODE WORDS ARGUMENT...: the exit code, one sentence that holds WORDS
# on stderr (argp adds where to get help), and no new file.
expect()
{
    local code=$1 words=$2 before after rc
    shift 2
    before=$(ls -A)
    "$preprocess" "$@" >stdout 2>stderr
    rc=$?
    after=$(ls -A)
    [ "$rc" -eq "$code" ] || fail "$*: exit code $rc, not $code"
    grep -qF -- "$words" stderr || fail "$*: \"$(cat stderr)\" lacks \"$words\""
    [ "$(grep -vc -e '^Try' -e '^information' stderr)" -eq 1 ] \
        || fail "$*: more than a sentence: $(cat stderr)"
    [ "$before" = "$after" ] || fail "$*: left files behind: $after"
}

# parse PREFIX: a line "CODE: [DOCUMENT, ...]" of Python bytes, 256 as "$"; a
# document of several sequences is a list of them.
parse()
{
    "$python" - "$1" <<'END'
import struct, sys
idx = open(sys.argv[1] + ".idx", "rb").read()
bin = open(sys.argv[1] + ".bin", "rb").read()
assert idx[:9] == b"MMIDIDX\0\0"
version, code, n, d = struct.unpack_from("<QBQQ", idx, 9)
assert version == 1 and len(idx) == 34 + 12 * n + 8 * d
length = struct.unpack_from("<%di" % n, idx, 34)
pointer = struct.unpack_from("<%dq" % n, idx, 34 + 4 * n)
bound = struct.unpack_from("<%dq" % d, idx, 34 + 12 * n)
size, char = {4: (4, "i"), 8: (2, "H")}[code]
assert bound[0] == 0 and bound[-1] == n and sorted(bound) == list(bound)
assert sum(length) * size == len(bin)
text = [b"".join(b"$" if t == 256 else bytes([t]) for t in
                 struct.unpack_from("<%d%s" % (l, char), bin, p))
        for l, p in zip(length, pointer)]
documents = [text[a] if b - a == 1 else text[a:b]
             for a, b in zip(bound, bound[1:])]
print("%d: %s" % (code, documents))
END
}

# same WANT PREFIX
same()
{
    local got
    got=$(parse "$2" 2>&1)
    [ "$got" = "$1" ] || fail "$2 holds $got, not $1"
}

touch stdout stderr

# Plain text.
printf 'one\ntwo\n\f\n\f\nthree \f not\n\f\r\n\xff\x00\nend' >text
"$preprocess" --input text --output-prefix out --tokenizer-type byte \
    --workers 4 >stdout 2>stderr || fail "plain text: $(cat stderr)"
same "8: [b'one\\ntwo\\n\$', b'three \\x0c not\\n\$', b'\\xff\\x00\\nend\$']" \
    out_text_document
grep -q 'out_text_document.bin, out_text_document.idx: 3 documents, 29 tokens' \
    stdout || fail "plain text: the names are not said: $(cat stdout)"
grep -qx 'to train: mtlm-dag --model gpt-tiny --data-path out_text_document' \
    stdout || fail "plain text: no command to train: $(cat stdout)"
[ ! -s stderr ] || fail "plain text: $(cat stderr)"
"$preprocess" -i text -o "two words" >stdout || fail "a name with a blank"
grep -qx "to train: mtlm-dag --model gpt-tiny --data-path 'two words_text_document'" \
    stdout || fail "a name with a blank: $(cat stdout)"

# A second time, over the first; without ends; a file without any form feed.
printf 'again' >text
"$preprocess" -i text -o out --no-append-eod >stdout || fail "again"
same "8: [b'again']" out_text_document
grep -q ': 1 document, 5 tokens$' stdout || fail "one document: $(cat stdout)"
[ "$(ls out*)" = "$(printf '%s\n' out_text_document.{bin,idx})" ] \
    || fail "temporary files remain"

# JSON lines.
printf '%s\n' '{"text": "h\u00e9\u0000", "id": 1}' '' '{"text": ""}' \
    '{"id": 123456789012345678901234567890, "text": "b\nc"}' >lines.jsonl
"$preprocess" --input lines.jsonl --output-prefix json >stdout || fail "jsonl"
same "8: [b'h\\xc3\\xa9\\x00\$', b'b\\nc\$']" json_text_document
# Several files, the end of each a document's; standard input; a byte order mark.
printf 'one\n\f\n\xef\xbb\xbftwo' >first.txt
printf '\xef\xbb\xbfthree\n' >second.txt
"$preprocess" -o files --input first.txt second.txt lines.jsonl >stdout \
    || fail "several files"
same "8: [b'one\\n\$', b'\\xef\\xbb\\xbftwo\$', b'three\\n\$', b'h\\xc3\\xa9\\x00\$', b'b\\nc\$']" \
    files_text_document
grep -q ': 5 documents, ' stdout || fail "several files: $(cat stdout)"
printf 'from\na pipe' | "$preprocess" --input first.txt - -o files >stdout \
    || fail "standard input"
same "8: [b'one\\n\$', b'\\xef\\xbb\\xbftwo\$', b'from\\na pipe\$']" files_text_document
"$preprocess" -i - -o files --json-keys text <lines.jsonl >stdout \
    || fail "JSON on standard input"
same "8: [b'h\\xc3\\xa9\\x00\$', b'b\\nc\$']" files_text_document
rm files_text_document.* first.txt second.txt
# The space behind the brace once made the empty line a wrong one.
printf '{ "text": "a"}\n\n \r\n{"text": "b"}\n' >blank.jsonl
"$preprocess" -i blank.jsonl -o blank >stdout || fail "blank lines in jsonl"
same "8: [b'a\$', b'b\$']" blank_text_document
printf '{"body": "x"}' >lines.json
"$preprocess" -i lines.json -o json --json-keys body >stdout || fail "json"
same "8: [b'x\$']" json_body_document

# Sentences, which lines and paragraphs cut and do not cut; what is not text is
# left out, and there is no end of document unless it is asked for.
printf '%s\n' 'A title' '' 'One  line. Mr. Two' 'lines! ' '  ' $' \t' 'Three.' \
    $'\f' ' ' $'\f' 'Next document' >text
"$preprocess" -i text -o out --split-sentences >stdout || fail "sentences"
same "8: [[b'A title ', b'One line. ', b'Mr. Two lines! ', b'Three. '], \
b'Next document ']" out_text_sentence
grep -q 'out_text_sentence.bin, .*: 2 documents, 5 sentences, 54 tokens' stdout \
    || fail "sentences are not counted: $(cat stdout)"
same "8: [b'again']" out_text_document
"$preprocess" -i text -o out --split-sentences --append-eod >stdout \
    || fail "sentences with ends"
same "8: [[b'A title ', b'One line. ', b'Mr. Two lines! ', b'Three. \$'], \
b'Next document \$']" out_text_sentence
printf '%s\n' '{"text": "One. Two.\n\nthree\u0000 four"}' '{"text": " "}' \
    '{"text": "Five"}' >lines.jsonl
"$preprocess" -i lines.jsonl -o json --split-sentences >stdout || fail "json"
same "8: [[b'One. ', b'Two. ', b'three\\x00 four '], b'Five ']" \
    json_text_sentence
printf ' \n\n' >blanks
expect 3 'blanks: no text' -i blanks -o x --split-sentences
rm blanks out_text_sentence.* json_text_sentence.*

# Wrong options.
expect 2 'known: byte' -i text -o x --tokenizer-type bite
expect 2 '--input' -o x
expect 2 '--output-prefix' -i text
expect 2 '--workers' -i text -o x --workers none
expect 2 '"more" is not an option; --input more reads it' -i text -o x more
expect 2 '"more"' more -i text -o x
expect 2 'standard input) once' -i - - -o x
expect 2 'nonsense' --nonsense
expect 2 'one key' -i text -o x --json-keys a/b
printf '{"body": "x"}\n' >lines.ndjson
expect 2 'no --input has a name in .jsonl' -i lines.ndjson -o x --json-keys body
"$preprocess" -i text lines.json -o mixed --json-keys body >stdout \
    || fail "a key beside plain text"

# Bad input.
expect 3 'missing: No such file' -i missing -o x
expect 3 'Is a directory; name its files' -i . -o x
expect 3 'missing: No such file' -i text missing -o x
# What is no text is named, with the way to text.
echo text | gzip >packed.txt
expect 3 'packed.txt: expected plain text, found gzip data; try: zcat' -i packed.txt -o x
printf '\xff\xfeh\0i\0\n\0' >wide.txt
expect 3 'wide.txt: expected plain text, found UTF-16 text; try: iconv' \
    -i text wide.txt -o x
printf 'BZh91AY&SY\x01' >packed.txt
expect 3 'packed.txt: expected plain text, found bzip2 data; try: bzcat' \
    -i packed.txt -o x
printf '%%PDF-1.4\n' >page.txt
expect 3 'found a PDF; try: pdftotext' -i page.txt -o x
printf 'BZh is how this text begins' >letters.txt
"$preprocess" -i letters.txt -o letters >stdout || fail "letters of bzip2"
: >empty
expect 3 'empty: no text' -i empty -o x
expect 3 'empty and 2 other files: no text' -i empty empty empty -o x
printf '\f\n\f\n' >feeds
expect 3 'feeds: no text' -i feeds -o x
printf '{"text": "a"}\n{"text": "b"\n' >bad.jsonl
expect 3 'bad.jsonl: line 2' -i bad.jsonl -o x
printf '{"text": "a"}\n{"body": "b"}\n' >bad.jsonl
expect 3 'line 2: expected an object with a text "text", found none' \
    -i bad.jsonl -o x
printf '{"text": 1}\n' >bad.jsonl
expect 3 'line 1' -i bad.jsonl -o x
printf '["text"]\n' >bad.jsonl
expect 3 'line 1' -i bad.jsonl -o x
printf '{"text": "\xff"}\n' >bad.jsonl
expect 3 'line 1' -i bad.jsonl -o x

# Output that cannot be written; what stood there stays.
expect 4 'nowhere/x_text_document.bin: No such file' -i text -o nowhere/x
expect 4 'text/x_text_document.bin: Not a directory' -i text -o text/x
head -c 3000000 /dev/zero >large
(ulimit -f 1000 && expect 4 'File too large' -i large -o out
 exit $failures) || failures=$((failures + 1))
same "8: [b'again']" out_text_document

# Stopped by a signal, after more than two seconds: progress was shown, and
# nothing is left.
mkfifo slow
"$preprocess" -i slow -o slow >stdout 2>stderr &
pid=$!
exec 3<>slow # for both ways: does not wait for a program that ended early
for _ in $(seq $((400 * TIME_SCALE))); do # until the program reads it
    ! find "/proc/$pid/fd" -lname '*/slow' 2>/dev/null | grep -q . || break
    sleep 0.05
done
for i in 1 2 3 4 5 6; do
    echo line >&3
    sleep 0.5
done
kill -TERM $pid
wait $pid
rc=$?
exec 3>&-
[ $rc -eq 143 ] || fail "stopped by SIGTERM: exit code $rc"
grep -q 'MB/s' stderr || fail "no progress after 2 s: $(cat stderr)"
grep -q 'stopped by Terminated' stderr || fail "stopped: $(cat stderr)"
[ "$(ls slow*)" = slow ] || fail "left behind: $(ls slow*)"

# A signal ends a line without an end, and the wait for a pipe's writer.
for input in /dev/zero slow; do
    timeout --foreground --preserve-status -k $((20 * TIME_SCALE)) \
        $((60 * TIME_SCALE)) "$preprocess" -i $input -o endless >stdout 2>stderr &
    pid=$!
    # Until it handles SIGTERM, bit 14 of its caught signals.
    for _ in $(seq $((400 * TIME_SCALE))); do
        caught=$(sed -n 's/^SigCgt:[[:space:]]*//p' \
            "/proc/$(pgrep -P $pid -x mtlm-preprocess)/status" 2>/dev/null)
        [ $((0x${caught:-0} & 0x4000)) -eq 0 ] || break
        sleep 0.05
    done
    sleep 0.2
    kill -TERM $pid
    wait $pid
    rc=$?
    [ $rc -eq 143 ] && grep -q 'stopped by Terminated' stderr \
        || fail "SIGTERM while it reads $input: exit code $rc: $(cat stderr)"
    [ -z "$(ls endless* 2>/dev/null)" ] || fail "left behind: $(ls endless*)"
done

# Zero bytes are kept, with a word.
printf 'a\0b\nc\nd\0\0\n' >zeros
"$preprocess" -i zeros -o zeros >stdout 2>stderr || fail "zeros: $(cat stderr)"
grep -q ': 2 of 3 lines have zero bytes; is the input plain text?' stderr \
    || fail "no word about zero bytes: $(cat stderr)"
grep -q '1 document, 11 tokens' stdout || fail "zeros: $(cat stdout)"

# Help.
"$preprocess" --help >stdout 2>stderr || fail "--help: exit code $?"
for words in 'Input:' 'Output:' 'Tokens:' 'Example:' '--tokenizer-type' \
    '--split-sentences'; do
    grep -qF -- "$words" stdout || fail "--help lacks $words"
done
"$preprocess" --version | grep -q '^mtlm-preprocess [0-9]' || fail "--version"

[ $failures -eq 0 ] && echo "all as expected"
exit $((failures > 0))
