#!/usr/bin/perl
# Plain text from HTML and POD: reads file names, one a line, and writes the
# documents, each after the other, separated by a line that holds a form feed.
# Paragraphs stand on one line, with an empty line between them.
#
# With --entries a document is a heading and the paragraphs that follow it, as
# many as reach 300 bytes, without program text; they come in an order of
# chance.  Neighbouring sentences of such a document differ in what they are,
# and none of a long article's outweigh the others.
use strict;
use warnings;

my $entries = @ARGV && $ARGV[0] eq '--entries';
my $entry_bytes = 300;
my $heading = "\x{e000}"; # stands before each while the text is made

my %entity = (
    amp => '&', lt => '<', gt => '>', quot => '"', apos => "'", nbsp => ' ',
    copy => "\xa9", eacute => "\xe9", egrave => "\xe8", ccedil => "\xe7",
    ouml => "\xf6", uuml => "\xfc", auml => "\xe4", pound => "\xa3",
    ndash => "\x{2013}", mdash => "\x{2014}", hellip => "\x{2026}",
    lsquo => "\x{2018}", rsquo => "\x{2019}",
    ldquo => "\x{201c}", rdquo => "\x{201d}",
);
# POD has names of its own for these.
my %escape = (%entity, sol => '/', verbar => '|', lchevron => "\xab",
    rchevron => "\xbb");

sub character
{
    my ($name, $table) = @_;

    return chr(hex $1) if $name =~ /^#?[xX]([0-9a-fA-F]{1,5})$/
        || $name =~ /^0x([0-9a-fA-F]{1,5})$/;
    return chr($1) if $name =~ /^#?([0-9]{1,6})$/;
    return $table->{$name} // '';
}

sub html_text
{
    my ($text) = @_;

    $text =~ s/<!--.*?-->//gs;
    $text =~ s/<(head|script|style)\b.*?<\/\1>//gsi;
    if ($entries) {
        $text =~ s/<pre\b.*?<\/pre>//gsi;
        $text =~ s/(?=<h[1-6]\b)/<p>$heading<\/p>/gi;
    }
    # Only <pre> means its line breaks.
    $text =~ s/(<pre\b.*?<\/pre>)|\s+/defined $1 ? $1 : ' '/gesi;
    $text =~ s/<\/?(p|div|h[1-6]|ul|ol|dl|blockquote|table|pre|hr)\b[^>]*>/\n\n/gi;
    $text =~ s/<(br|li|tr|dt|dd)\b[^>]*>/\n/gi;
    $text =~ s/<[a-zA-Z\/!][^>]*>//g;
    $text =~ s/&(#?\w+);/character($1, \%entity)/ge;
    # Links to the chapters before and after.
    $text =~ s/^.*[\x{2039}\x{203a}].*$//gm;
    return $text;
}

# The text of a formatting code: C<x>, L<text|target>, E<gt>, nothing for an
# index entry.
sub pod_code
{
    my ($code, $text) = @_;

    return character($text, \%escape) if $code eq 'E';
    return '' if $code eq 'X' || $code eq 'Z';
    if ($code eq 'L') {
        return $1 if $text =~ /^(.*?)\|/s;
        $text =~ s/^\///;
        $text =~ s/^"(.*)"$/$1/s;
    }
    return $text;
}

sub pod_inline
{
    my ($text) = @_;

    # Innermost first.  What E<lt> and E<gt> stand for must not look like the
    # bracket of a code before all of these are gone.
    $text =~ s/E<lt>/\x01/g;
    $text =~ s/E<gt>/\x02/g;
    1 while $text =~ s{([A-Z])(?:<<<+\s+(.*?)\s+>>>+|<<\s+(.*?)\s+>>|<([^<>]*)>)}{
        my $inner = pod_code($1, $2 // $3 // $4);
        $inner =~ tr{<>}{\x01\x02};
        $inner
    }gesx;
    $text =~ tr/\x01\x02/<>/;
    return $text;
}

sub pod_text
{
    my @out;
    my ($pod, $skip) = (0, 0);

    for my $paragraph (split /\n\s*\n/, $_[0]) {
        if ($paragraph =~ /^=(\w+)\s*(.*)/s) {
            my ($command, $rest) = ($1, $2);
            $pod = $command ne 'cut';
            $skip = 1 if $command eq 'begin';
            $skip = 0 if $command eq 'end';
            next if $skip || $command !~ /^(head\d|item)$/ || $rest eq '*';
            push @out, $heading if $entries;
            push @out, pod_inline($rest);
        } elsif ($pod && !$skip) {
            next if $entries && $paragraph =~ /^\s/;
            # An indented paragraph is taken as it stands.
            push @out, $paragraph =~ /^\s/ ? $paragraph : do {
                $paragraph =~ s/\s*\n\s*/ /g;
                pod_inline($paragraph);
            };
        }
    }
    return join "\n\n", @out;
}

# The beginnings of the parts of text that have a heading each.
sub entries
{
    my (undef, @parts) = split /$heading/, $_[0];
    my @found;

    for my $part (@parts) {
        my ($entry, @paragraphs) = grep { length } split /\s*\n\s*\n\s*/, $part;

        next if !@paragraphs;
        do {
            $entry .= "\n\n" . shift @paragraphs;
        } while @paragraphs && length $entry < $entry_bytes;
        push @found, $entry if length $entry >= $entry_bytes / 3;
    }
    return @found;
}

# A number that looks like chance, the same for the same text.
sub scatter
{
    my $hash = 5381;

    $hash = ($hash * 33 ^ $_) & 0xffffffff for unpack 'W*', substr $_[0], 0, 200;
    return $hash;
}

my $documents = 0;
sub write_document
{
    my ($text) = @_;

    utf8::encode($text);
    print "\f\n" if $documents++;
    print $text, "\n";
}

my @entries;
while (my $name = <STDIN>) {
    chomp $name;
    open my $in, '<:raw', $name or die "$name: $!\n";
    my $text = do { local $/; <$in> };
    # What is not UTF-8 is taken for Latin-1.
    utf8::decode($text);
    $text =~ s/\r\n?/\n/g;
    $text = $name =~ /\.html$/ ? html_text($text) : pod_text($text);
    $text =~ s/[\x00-\x08\x0b-\x1f\x7f]//g;
    $text =~ s/[ \t]+$//gm;
    $text =~ s/^ +(?=\S)//gm if $name =~ /\.html$/;
    $text =~ s/  +/ /g if $name =~ /\.html$/;
    $text =~ s/\n{3,}/\n\n/g;
    $text =~ s/^\n+|\n+$//g;
    # Tables of contents and stubs teach nothing.
    next if length $text < 1000;
    if ($entries) {
        push @entries, map { [scatter($_), $_] } entries($text);
    } else {
        write_document($text);
    }
}
write_document($_->[1])
    for sort { $a->[0] <=> $b->[0] || $a->[1] cmp $b->[1] } @entries;
# The first error of any print, too.
close STDOUT or die "cannot write the text: $!\n";
printf STDERR "%d documents\n", $documents;
exit($documents == 0);
