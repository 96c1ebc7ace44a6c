"""A picture of modes beside strict under noise, as SVG: a panel for each job and
schedule, a dot with its interval for each noise and mode."""

from bench.svg import COLOURS, page, text, ticks

WIDTH, LEFT, RIGHT, TOP, ROW, GAP = 900, 230, 20, 80, 16, 26
OFF = {"hint": -3.5, "emergent": 3.5}  # pixels


def _extent(rows):
    values = [x for row in rows for x in row.beside.values()]
    least = min(0, *(x.mean - x.half for x in values))
    most = max(0, *(x.mean + x.half for x in values))
    return least, most + 0.02 * (most - least) + 1e-9


def _scale(rows):
    least, most = _extent(rows)
    wide = WIDTH - LEFT - RIGHT
    return lambda value: LEFT + (value - least) / (most - least) * wide


def _axis(rows, x, top, bottom):
    least, most = _extent(rows)
    both = [*ticks(most), *(-tick for tick in ticks(-least)[1:])]
    lines = []
    for tick in both:
        colour = "#888" if tick == 0 else "#ddd"
        lines.append(
            f'<path d="M{x(tick):.1f} {top}V{bottom}" stroke="{colour}"/>'
        )
        lines.append(text(x(tick), bottom + 16, f"{tick:+g}", ' class="m"'))
    lines.append(
        text((LEFT + WIDTH - RIGHT) / 2, bottom + 34,
             "per cent longer than strict", ' class="m"')
    )
    return lines


def _dots(row, x, middle, columns):
    lines = []
    for number, column in enumerate(columns):
        share, y = row.beside[column], middle + OFF[column[0]]
        colour = COLOURS[number]
        lines.append(
            f'<path d="M{x(share.mean - share.half):.1f} {y}'
            f'H{x(share.mean + share.half):.1f}" stroke="{colour}"/>'
        )
        lines.append(
            f'<circle cx="{x(share.mean):.1f}" cy="{y}" r="2.5" '
            f'fill="{colour}"/>'
        )
    return lines


def _legend(columns):
    lines = []
    for number, column in enumerate(columns):
        left = LEFT + 150 * number
        lines.append(
            f'<circle cx="{left}" cy="50" r="4" fill="{COLOURS[number]}"/>'
        )
        lines.append(text(left + 10, 54, ", ".join(column)))
    return lines


def draw(rows):
    columns = list(rows[0].beside)
    x, y, lines = _scale(rows), TOP, []
    group = None
    for row in rows:
        name = (row.p, row.m, row.times, row.schedule)
        if name != group:
            group, y = name, y + (GAP if group else 0)
            lines.append(
                text(10, y + 4,
                     f"{row.schedule}, p {row.p}, m {row.m}, message "
                     f"{row.times[3]:g}", ' font-weight="bold"')
            )
            y += ROW
        lines.append(text(LEFT - 8, y + 4, row.noise, ' class="e"'))
        lines += _dots(row, x, y, columns)
        y += ROW
    axis = _axis(rows, x, TOP - 12, y)
    return page(WIDTH, y + 44, "Modes beside strict, under the same noise",
                [*axis, *_legend(columns), *lines])
