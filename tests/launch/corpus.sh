#!/bin/bash
# The sample text: mark-up goes, words and paragraphs stay, and documents are
# separated by a form feed; with --entries each is a heading and what follows.
set -eu

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
filler=$(printf 'some words %.0s' $(seq 100))

cat >"$work/a.html" <<END
<html><head><title>not this</title></head><body><!-- nor this -->
<h1>A &amp; B</h1>
<p>The <i>first</i>
line &#8220;quoted&#x201d; caf&eacute;.</p><ul><li>one<li>two</ul>
<p>$filler</p></body></html>
END
cat >"$work/b.pod" <<END
not this

=head1 Title

Text with C<code>, C<0>, B<< bold >>, C<< 0 >>, L<a link|perlfunc/x>, E<lt>brackets>,
X<index>and I<B<both>>.

=begin comment

nor this

=end comment

    verbatim C<stays>

$filler

=cut

nor this
END
echo short >"$work/c.pod"
{
    printf 'A & B\n\nThe first line “quoted” café.\n\none\ntwo\n\n%s\n\f\n' \
        "${filler% }"
    printf 'Title\n\nText with code, 0, bold, 0, a link, <brackets>, and both.\n\n'
    printf '    verbatim C<stays>\n\n%s\n' "${filler% }"
} >"$work/want"
printf '%s\n' "$work/a.html" "$work/b.pod" "$work/c.pod" \
    | perl "$srcdir/launch/setup.d/corpus.pl" >"$work/have"
diff -u "$work/want" "$work/have"

# Two runs at once for one file: the second run begins and ends while the first
# one makes the text.  Both succeed; a run that fails leaves nothing behind.
mkdir "$work/bin" "$work/packages" "$work/texts"
for i in $(seq 20); do
    printf '<p>%s</p>\n' "$filler" >"$work/packages/$i.html"
    printf '=head1 Title\n\n%s\n' "$filler" >"$work/packages/$i.pod"
done
printf '#!/bin/sh\nls "%s"/packages/*\n' "$work" >"$work/bin/dpkg"
cat >"$work/bin/perl" <<END
#!/bin/sh
if [ -z "\${SECOND:-}" ]; then
    SECOND=1 "$srcdir/launch/corpus" "$work/texts/one" </dev/null >&2 || exit
fi
exec "$(command -v perl)" "\$@"
END
chmod +x "$work/bin/dpkg" "$work/bin/perl"
corpus() {
    PATH=$work/bin:$PATH XDG_CACHE_HOME=$work/cache "$srcdir/launch/corpus" "$@"
}
[ "$(corpus "$work/texts/one")" = "$work/texts/one" ]
[ "$(grep -c $'^\f$' "$work/texts/one")" -eq 39 ]
printf '#!/bin/sh\nexit 1\n' >"$work/bin/perl"
if corpus "$work/texts/two"; then
    echo 'a text was made without perl'
    exit 1
fi
[ "$(ls -A "$work/texts")" = one ]

# Each heading with the paragraphs behind it, up to 300 bytes, no program
# text, nothing without a paragraph or in front of the first heading; in an
# order that does not depend on the files'.
cat >"$work/d.html" <<END
<html><body><p>In front</p><p>of it all</p><h1>Long</h1><p>$filler</p><p>too much</p>
<h2>No text</h2><h2>Two</h2><p>One of the paragraphs.<pre>no program</pre>
<p>Another one: ${filler:0:200}</p></body></html>
END
cat >"$work/e.pod" <<END
=head1 Empty

=over

=item *

=item thing

A thing is a thing, ${filler:0:200}

    not C<this>

=item other

An other is another, ${filler:0:200}

=back

$filler
END
{
    printf 'Long\n\n%s\n\f\n' "${filler% }"
    printf 'Two\n\nOne of the paragraphs.\n\nAnother one: %s\n\f\n' \
        "${filler:0:200}"
    printf 'other\n\nAn other is another, %s\n\n%s\n\f\n' "${filler:0:200}" \
        "${filler% }"
    printf 'thing\n\nA thing is a thing, %s\n' "${filler:0:200}"
} >"$work/want"
entries() {
    printf '%s\n' "$@" | perl "$srcdir/launch/setup.d/corpus.pl" --entries
}
entries "$work/d.html" "$work/e.pod" >"$work/have"
perl -e 'undef $/; print join "\f\n", sort split /\f\n/, <>' "$work/have" \
    | diff -u "$work/want" -
entries "$work/e.pod" "$work/d.html" | cmp - "$work/have"
! cmp -s "$work/want" "$work/have"

# A full disk is an error: at the end of a short text, amid a long one.
for n in 1 40; do
    yes "$work/a.html" | head -n "$n" \
        | perl "$srcdir/launch/setup.d/corpus.pl" >/dev/full 2>"$work/err" \
        && exit 1
    grep -qx 'cannot write the text: No space left on device' "$work/err"
done

# Only one file is written, and options come before its name.
for more in "$work/other.txt" --entries; do
    "$srcdir/launch/corpus" "$work/text.txt" "$more" >"$work/out" 2>&1 && exit 1
    grep -qxF "corpus: unknown argument '$more'" "$work/out"
done
