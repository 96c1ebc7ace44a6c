#!/bin/bash
# launch/quickstart: text becomes tokens, two ranks train, and the model writes; a
# second call prepares nothing again, unless the user gives a text.  The set-up, the
# build and the sample text are given here.
set -u
. "${srcdir:-.}/tests/mpi/common.sh"

for name in mpirun setsid setpriv; do
    command -v $name >/dev/null || {
        echo "skipped: there is no program $name in PATH"
        exit 77
    }
done
export XDG_CACHE_HOME=$dir/cache
mkdir -p tree/launch tree/build
cp "$srcdir/launch/quickstart" "$srcdir/launch/run" tree/launch
ln -s "$srcdir/launch/setup.d" tree/launch
ln -s "$program" "${program%/*}/mtlm-preprocess" tree/build
cat >tree/launch/setup <<'END'
#!/bin/bash
echo "$*" >>calls
END
# The pages twice, so that each split has a sample.
cat >tree/launch/corpus <<'END'
#!/bin/bash
[ -s "${!#}" ] || { mkdir -p "${!#%/*}" && cat "$srcdir"/docs/*.md "$srcdir"/docs/*.md >"${!#}"; }
echo "${!#}"
END
chmod +x tree/launch/setup tree/launch/corpus

quickstart() {
    timeout -k 5 $((120 * TIME_SCALE)) tree/launch/quickstart "$@" >out 2>err </dev/null
    rc=$?
}

# trains OPTION...: a short training ends with a checkpoint and a text.
trains() {
    quickstart --minutes="$(scaled 0.05)" --jobs=1 "$@"
    [ $rc -eq 0 ] || fail "exit code $rc: $(cat out err)"
    compgen -G 'tree/build/quickstart-checkpoint/*/manifest.json' >/dev/null \
        || fail "no checkpoint: $(cat out err)"
    sed '1,/^What the model writes after/d' out | grep -q '^The ' \
        || fail "no text: $(cat out err)"
}

index=$XDG_CACHE_HOME/mtlm-dag/corpus/english_text_document.idx
trains
made=$(stat -c %y "$index") || fail "no tokens: $(find "$XDG_CACHE_HOME")"
trains
[ "$(stat -c %y "$index")" = "$made" ] || fail "the second call makes tokens again"
[ "$(sort -u calls)" = '--data --build --jobs=1' ] || fail "the set-up gets $(cat calls)"

# A text of the user's, by a path relative to the caller's directory.  A second
# text that is older than the tokens of the first replaces these tokens.
rm calls
cat "$srcdir"/docs/*.md | tr a-z A-Z >own.txt
head -c $(($(wc -c <own.txt) / 2)) own.txt >'second text.txt'
touch -d '2001-01-01' 'second text.txt'
trains --text=own.txt
bytes=$(stat -c %s tree/build/quickstart_text_document.bin) || fail 'no tokens of own.txt'
trains --text='second text.txt'
[ "$(stat -c %s tree/build/quickstart_text_document.bin)" -lt "$bytes" ] \
    || fail 'the second text has the tokens of the first'
[ "$(sort -u calls)" = '--build --jobs=1' ] || fail "the set-up gets $(cat calls)"

# What is refused is refused before the set-up.
rm calls
: >empty.txt
for text in '' empty.txt absent.txt tree; do
    quickstart --text="$text"
    [ $rc -eq 1 ] && grep -qx "quickstart: --text=$text: a file with text is needed" err \
        || fail "--text=$text: exit code $rc: $(cat err)"
done
quickstart --model=x
[ $rc -eq 1 ] && grep -qx 'quickstart: --model=x: gpt-tiny or bert-tiny is needed' err \
    || fail "--model=x: exit code $rc: $(cat err)"
for minutes in 0 . .0 1000000 2000000 1e3 -1 5x; do
    quickstart --minutes="$minutes"
    [ $rc -eq 1 ] && grep -qxF "quickstart: --minutes=$minutes: a number above 0\
 and below 1000000 is needed, such as 0.5" err \
        || fail "--minutes=$minutes: exit code $rc: $(cat err)"
done
compgen -G 'tree/build/quickstart-checkpoint/*/manifest.json' >/dev/null \
    || fail 'a refusal costs the last checkpoint'
# Short forms are numbers, too: what is refused is the text.
for minutes in .5 5. 999999.5; do
    quickstart --minutes="$minutes" --text=absent.txt
    grep -q '^quickstart: --text=absent.txt: ' err \
        || fail "--minutes=$minutes: exit code $rc: $(cat err)"
done
[ ! -e calls ] || fail "a refusal after the set-up: $(cat calls)"

finish
