"""A picture of how long jobs took, as SVG: a bar for the median of each, a dot
for every iteration, groups one below the other."""

from bench.svg import COLOURS, axis, page, text, ticks

WIDTH, LEFT, RIGHT, TOP, ROW, GAP = 900, 190, 130, 56, 22, 12


def _row(x, y, bar, colour):
    middle = y + ROW / 2
    lines = [
        text(LEFT - 8, middle + 4, bar["name"], ' text-anchor="end"'),
        f'<rect x="{LEFT}" y="{y + 3}" width="{x(bar["median"]) - LEFT:.1f}" '
        f'height="{ROW - 6}" fill="{colour}"/>',
    ]
    lines += [
        f'<circle cx="{x(value):.1f}" cy="{middle}" r="2.5" fill="#000" '
        'fill-opacity="0.35"/>'
        for value in bar["values"]
    ]
    lines.append(text(WIDTH - RIGHT + 10, middle + 4, bar["note"]))
    return lines


def draw(title, groups):
    """groups: [(name, [{name, values, median, note}])].  A name that comes
    again has its colour again."""
    bars = [bar for _, group in groups for bar in group]
    most = 1.02 * max(max(bar["values"]) for bar in bars)
    names = list(dict.fromkeys(bar["name"] for bar in bars))

    def x(value):
        return LEFT + value / most * (WIDTH - LEFT - RIGHT)

    lines, y = [], TOP
    for name, group in groups:
        if name:
            lines.append(text(10, y + 15, name, ' font-weight="bold"'))
        for bar in group:
            colour = COLOURS[names.index(bar["name"]) % len(COLOURS)]
            lines += _row(x, y, bar, colour)
            y += ROW
        y += GAP
    below = text(x(most / 2), y + 34, "ms an iteration", ' class="m"')
    return page(WIDTH, y + 44, title,
                [*axis(x, ticks(most), TOP - 8, y), below, *lines])
