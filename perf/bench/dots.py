"""A picture of means with intervals, as SVG: groups of rows, in each row a dot
for each column that has a value."""

import math

from bench.svg import COLOURS, axis, page, text, ticks

WIDTH, LEFT, RIGHT, TOP, ROW, GAP = 900, 230, 20, 80, 16, 26
TALL = 1500  # pixels: the numbers of the axis stand above, too


def spread(columns):
    """Offsets of so many columns from the middle of a row, in pixels."""
    apart = min(7, 12 / max(1, columns - 1))
    return [apart * (i - (columns - 1) / 2) for i in range(columns)]


def _extent(groups):
    shares = [s for _, rows in groups for _, row in rows for s in row if s]
    least = min([0, *(s.mean - s.half for s in shares)])
    most = max([0, *(s.mean + s.half for s in shares)])
    return least, most + 0.02 * (most - least) + 1e-9


def _ticks(extent):
    """Both sides of 0 have the same steps."""
    least, most = extent
    steps = ticks(max(most, -least))
    return [s for s in (*steps, *(-s for s in steps[1:])) if least <= s <= most]


def _axis(x, extent, label, top, bottom):
    middle = (LEFT + WIDTH - RIGHT) / 2
    return [
        *axis(x, _ticks(extent), top, bottom, "{:+g}", "#888",
              bottom - top > TALL),
        text(middle, bottom + 34, label, ' class="m"'),
    ]


def _colours(number):
    """Line and fill of a column; those behind the last colour are hollow."""
    colour = COLOURS[number % len(COLOURS)]
    return colour, colour if number < len(COLOURS) else "#fff"


def _edge(colour, fill):
    return "" if fill == colour else f' stroke="{colour}"'


def _dots(row, x, middle, offsets):
    lines = []
    for number, (share, off) in enumerate(zip(row, offsets)):
        if not share:
            continue
        y, colour, fill = middle + off, *_colours(number)
        lines.append(
            f'<path d="M{x(share.mean - share.half):.1f} {y:g}'
            f'H{x(share.mean + share.half):.1f}" stroke="{colour}"/>'
        )
        lines.append(
            f'<circle cx="{x(share.mean):.1f}" cy="{y:g}" r="2.5" '
            f'fill="{fill}"{_edge(colour, fill)}/>'
        )
    return lines


def _legend(columns):
    lines, wide = [], min(150, (WIDTH - LEFT) // max(1, len(columns)))
    left = LEFT if wide > 100 else 20
    wide = wide if wide > 100 else (WIDTH - left) // len(columns)
    for number, column in enumerate(columns):
        x, (colour, fill) = left + wide * number, _colours(number)
        lines.append(
            f'<circle cx="{x}" cy="50" r="4" fill="{fill}"'
            f"{_edge(colour, fill)}/>"
        )
        lines.append(text(x + 10, 54, column))
    return lines


def _finite(share):
    """A single value has no interval to draw."""
    if share and math.isinf(share.half):
        return share._replace(half=0.0)
    return share


def draw(title, label, columns, groups, offsets=None):
    """columns: names.  groups: [(name, [(name of the row, [Share or None, for
    each column])])].  label: of the axis.  offsets: pixels of each column."""
    groups = [
        (name, [(what, [_finite(s) for s in row]) for what, row in rows])
        for name, rows in groups
    ]
    least, most = extent = _extent(groups)
    offsets = offsets or spread(len(columns))

    def x(value):
        return LEFT + (value - least) / (most - least) * (WIDTH - LEFT - RIGHT)

    lines, y = [], TOP
    for number, (name, rows) in enumerate(groups):
        y += GAP if number else 0
        lines.append(text(10, y + 4, name, ' font-weight="bold"'))
        y += ROW
        for what, row in rows:
            lines.append(text(LEFT - 8, y + 4, what, ' class="e"'))
            lines += _dots(row, x, y, offsets)
            y += ROW
    across = _axis(x, extent, label, TOP - 12, y)
    return page(WIDTH, y + 44, title, [*across, *_legend(columns), *lines])
