"""A picture of how long jobs took, as SVG: a bar for the median of each, a dot
for every iteration, groups one below the other."""

from xml.sax.saxutils import escape

WIDTH, LEFT, RIGHT, TOP, ROW, GAP = 900, 190, 130, 56, 22, 12
COLOURS = "#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377"


def _step(most):
    """Between two ticks: 1, 2 or 5 times a power of ten, at most ten ticks."""
    step = 10.0**-6
    while True:
        for factor in (1, 2, 5):
            if most <= 10 * factor * step:
                return factor * step
        step *= 10


def _text(x, y, what, more=""):
    return f'<text x="{x:.1f}" y="{y:.1f}"{more}>{escape(what)}</text>'


def _axis(x, top, bottom, most):
    lines, step = [], _step(most)
    for i in range(int(most / step + 1e-9) + 1):
        lines.append(
            f'<path d="M{x(i * step):.1f} {top}V{bottom}" stroke="#ddd"/>'
        )
        lines.append(
            _text(
                x(i * step), bottom + 16, f"{i * step:g}", ' class="m"'
            )
        )
    lines.append(
        _text(x(most / 2), bottom + 34, "ms an iteration", ' class="m"')
    )
    return lines


def _row(x, y, bar, colour):
    middle = y + ROW / 2
    lines = [
        _text(LEFT - 8, middle + 4, bar["name"], ' text-anchor="end"'),
        f'<rect x="{LEFT}" y="{y + 3}" width="{x(bar["median"]) - LEFT:.1f}" '
        f'height="{ROW - 6}" fill="{colour}"/>',
    ]
    lines += [
        f'<circle cx="{x(value):.1f}" cy="{middle}" r="2.5" fill="#000" '
        'fill-opacity="0.35"/>'
        for value in bar["values"]
    ]
    lines.append(_text(WIDTH - RIGHT + 10, middle + 4, bar["note"]))
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
            lines.append(_text(10, y + 15, name, ' font-weight="bold"'))
        for bar in group:
            colour = COLOURS[names.index(bar["name"]) % len(COLOURS)]
            lines += _row(x, y, bar, colour)
            y += ROW
        y += GAP
    height = y + 44
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" '
            f'height="{height}" font-family="sans-serif" font-size="12">',
            "<style>.m { text-anchor: middle }</style>",
            f'<rect width="{WIDTH}" height="{height}" fill="#fff"/>',
            _text(10, 26, title, ' font-size="15"'),
            *_axis(x, TOP - 8, y, most),
            *lines,
            "</svg>",
            "",
        ]
    )
