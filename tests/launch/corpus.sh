#!/bin/bash
# The sample text: mark-up goes, words and paragraphs stay, and documents are
# separated by a form feed.
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

Text with C<code>, B<< bold >>, L<a link|perlfunc/x>, E<lt>brackets>,
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
    printf 'Title\n\nText with code, bold, a link, <brackets>, and both.\n\n'
    printf '    verbatim C<stays>\n\n%s\n' "${filler% }"
} >"$work/want"
printf '%s\n' "$work/a.html" "$work/b.pod" "$work/c.pod" \
    | perl "$srcdir/launch/setup.d/corpus.pl" >"$work/have"
diff -u "$work/want" "$work/have"
