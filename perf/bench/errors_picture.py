"""Draws the errors of predictions over the published seconds."""

import math

from bench import svg

LEFT, TOP, WIDE, HIGH = 60, 50, 640, 300
COLOURS = *svg.COLOURS, "#888888", "#333333"
MOST = 20  # % at the edges; what is farther stands at the edge


def _place(seconds, least, most):
    share = math.log(seconds / least) / math.log(most / least)
    return LEFT + WIDE * share


def _height(error):
    return TOP + HIGH / 2 * (1 - max(-MOST, min(MOST, error)) / MOST)


def _grid(least, most):
    lines = []
    for error in range(-MOST, MOST + 1, 5):
        y = _height(error)
        colour = "#888" if error == 0 else "#ddd"
        lines.append(
            f'<path d="M{LEFT} {y:.1f}h{WIDE}" stroke="{colour}"/>'
            + svg.text(LEFT - 6, y + 4, f"{error:+d} %", ' class="e"')
        )
    for power in range(-1, 3):
        seconds = 10**power
        if least <= seconds <= most:
            x = _place(seconds, least, most)
            lines.append(
                f'<path d="M{x:.1f} {TOP}v{HIGH}" stroke="#ddd"/>'
                + svg.text(x, TOP + HIGH + 16, f"{seconds:g} s", ' class="m"')
            )
    return lines


def _point(row, colour, least, most):
    x, y = _place(row.seconds, least, most), _height(row.error())
    fill = "#fff" if row.fitted else colour
    return (
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{fill}" '
        f'stroke="{colour}" stroke-width="1.5"><title>{row.set} {row.model} '
        f"{row.job()}: {row.error():+.1f} %</title></circle>"
    )


def _family(name):
    """Sets of one source have one colour: "ZB" of "ZB-2p sync"."""
    return "ZB" if name.startswith("ZB") else name


def draw(title, rows, names):
    """The picture; names: the sets, in order."""
    names = list(dict.fromkeys(map(_family, names)))
    least = min(row.seconds for row in rows) / 1.2
    most = max(row.seconds for row in rows) * 1.2
    lines = _grid(least, most)
    for i, name in enumerate(names):
        colour = COLOURS[i % len(COLOURS)]
        x = LEFT + 82 * i
        lines.append(
            f'<circle cx="{x}" cy="{TOP + HIGH + 36}" r="4" fill="{colour}"/>'
            + svg.text(x + 8, TOP + HIGH + 40, name)
        )
        lines += [
            _point(row, colour, least, most) for row in rows if _family(row.set) == name
        ]
    return svg.page(LEFT + WIDE + 20, TOP + HIGH + 60, title, lines)
