"""Writes what belongs together, such as a page and its figures."""

import json
import os
import sys


def figures(value):
    """The text of a file of figures."""
    return json.dumps(value, indent=1) + "\n"


def write_page(path, text, data=None, picture=None):
    """As write(): path.md, path.json with the data, and path.svg.  picture():
    its text; data, picture: None if there is none."""
    files = {path + ".md": text}
    if picture:
        files[path + ".svg"] = picture()
    if data:
        files[path + ".json"] = figures(data)
    write(files)


def _stop(error, path, what):
    sys.exit(f"{error.filename or path}: {error.strerror}; {what}")


def write(files):
    """files: {path: text}.  All are whole on the disk before the first replaces
    an older one.  A file that cannot be written ends the program."""
    try:
        for path, text in files.items():
            with open(path + ".new", "w", encoding="utf-8") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
    except OSError as error:
        for other in files:
            if os.path.exists(other + ".new"):
                os.remove(other + ".new")
        _stop(error, path, "nothing is written")
    for path in files:
        try:
            os.replace(path + ".new", path)
        except OSError as error:
            _stop(error, path, f"{path}.new is what was to be written")
