"""WikiText-103 without the blanks of its format, written anew from the
definition in Megatron-LM v2.6, by regular expressions."""
import re

REPLACED = [
    # Contractions; the second one puts its own pattern into the text.
    (r"s '", "s'"),
    (r"/' [0-9]/", "/'[0-9]/"),
    # Between digits, and inside words.
    (r" @-@ ", "-"), (r" @,@ ", ","), (r" @\.@ ", "."),
    # Marks stand behind a word.
    (r" : ", ": "), (r" ; ", "; "), (r" \. ", ". "), (r" ! ", "! "),
    (r" \? ", "? "), (r" , ", ", "),
]
PAIRS = ["()", "[]", "{}", '""', "''"]
REST = [
    (r"= = = =", "===="), (r"= = =", "==="), (r"= =", "=="),
    (" \N{DEGREE SIGN} ", "\N{DEGREE SIGN}"),
    (r" \n", "\n"), (r"\n ", "\n"), (r" N ", " 1 "), (r" 's", "'s"),
]


def inside(begin, end):
    """What stands between the two, without white space at its ends."""
    return re.compile(f"{re.escape(begin)}\\s*([^{re.escape(end)}]*?)\\s*"
                      f"{re.escape(end)}")


def clean(text):
    for pattern, to in REPLACED:
        text = re.sub(pattern, lambda _, to=to: to, text)
    for begin, end in PAIRS:
        text = inside(begin, end).sub(
            lambda m, b=begin, e=end: b + m.group(1) + e, text)
    for pattern, to in REST:
        text = re.sub(pattern, lambda _, to=to: to, text)
    return text


def words(text):
    """How many words the raw text has."""
    return len(text.strip().split(" "))
