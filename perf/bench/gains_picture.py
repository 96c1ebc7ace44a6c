"""A picture of what published iterations gain, as SVG: a bar for each job, a
part for each source of the gain."""

from bench.svg import COLOURS, axis, page, text, ticks

WIDTH, LEFT, RIGHT, TOP, ROW = 900, 130, 230, 80, 28


def _legend(sources):
    lines = []
    for number, source in enumerate(sources):
        left = LEFT + 130 * number
        lines.append(
            f'<rect x="{left}" y="44" width="10" height="10" '
            f'fill="{COLOURS[number]}"/>'
        )
        lines.append(text(left + 16, 54, source))
    return lines


def draw(title, jobs):
    """jobs: [(name, {source: gain in %, on top of those before}, note)]."""
    most = 1.02 * max(1, *(sum(parts.values()) for _, parts, _ in jobs))
    sources = list(jobs[0][1])

    def x(value):
        return LEFT + value / most * (WIDTH - LEFT - RIGHT)

    lines, y = [], TOP
    for name, parts, note in jobs:
        lines.append(text(LEFT - 8, y + 14, name, ' class="e"'))
        start = 0
        for number, source in enumerate(sources):
            end = start + parts[source]
            lines.append(
                f'<rect x="{x(start):.1f}" y="{y}" '
                f'width="{x(end) - x(start):.1f}" height="{ROW - 8}" '
                f'fill="{COLOURS[number]}"><title>{source}: '
                f"{parts[source]:.1f} %</title></rect>"
            )
            start = end
        lines.append(text(x(start) + 8, y + 14, note))
        y += ROW
    bottom = y + 4
    below = text(x(most / 2), bottom + 34,
                 "per cent of the published code's time", ' class="m"')
    return page(WIDTH, bottom + 48, title,
                [*axis(x, ticks(most), TOP - 8, bottom), below,
                 *_legend(sources), *lines])
