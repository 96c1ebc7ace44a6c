"""The options that scripts of perf/ have in common, and what they do with a page."""

import argparse
import os
import shlex
import sys

from bench import page_files, report

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def parser(doc, **more):
    """Of a script with that text, whose lines --help keeps."""
    return argparse.ArgumentParser(
        description=doc,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        **more,
    )


def add_build(options):
    """options: a parser."""
    options.add_argument(
        "--build",
        default=os.path.join(ROOT, "build"),
        help="where mtlm-dag was built (default: build/)",
    )


def add_write(options, what):
    """options: a parser.  what: the files, such as "anomaly-CPU.md and .json"."""
    options.add_argument(
        "--write",
        type=report.directory,
        metavar="DIR",
        help=f"write {what} there",
    )


def at_least_one(options, given, *names):
    """Refuses less.  options: a parser; given: what it has read."""
    for name in names:
        if vars(given)[name] < 1:
            options.error(f"--{name.replace('_', '-')} is at least 1")


def command(script, named=None):
    """The command of this program for the page of the script, without --write
    and paths of this machine.  named: {word: what the page has in its place}."""
    words = [(named or {}).get(word, word) for word in sys.argv[1:]]
    return shlex.join([script, *report.public(words)])


def report_page(given, name, text, data=None, picture=None):
    """Prints a page.  With --write, writes the page and what belongs to it, as
    page_files.write_page()."""
    print(text, flush=True)
    if given.write:
        page_files.write_page(
            os.path.join(given.write, name), text, data, picture
        )
