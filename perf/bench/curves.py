"""A picture of losses by iteration, as SVG: rows of panels, those of a row with
axes of equal extent, a line for each curve over its values as they are, and level
lines to compare with."""

from bench.svg import COLOURS, axis, page, text, ticks

WIDTH, LEFT, RIGHT, GAP = 960, 46, 18, 40
TOP, ROW, BETWEEN, BOTTOM = 70, 190, 60, 46


def smooth(points, width):
    """Means of the last so many values, fewer at the begin: [(x, y)]."""
    out, total = [], 0
    for i, (x, y) in enumerate(points):
        total += y
        if i >= width:
            total -= points[i - width][1]
        out.append((x, total / min(i + 1, width)))
    return out


class Panel:
    """Pixels of a panel whose upper left corner is there and that is so wide."""

    def __init__(self, left, top, width, most_x, bounds):
        self.left, self.width = left, width
        self.top, self.bottom = top, top + ROW
        self.most_x, self.bounds = most_x, bounds

    def x(self, value):
        return self.left + value / self.most_x * self.width

    def y(self, value):
        """What lies above or below is drawn at the edge."""
        least, most = self.bounds
        share = (min(max(value, least), most) - least) / (most - least)
        return self.bottom - share * ROW

    def axes(self, name, label):
        least, most = self.bounds
        right, bottom = self.left + self.width, self.bottom
        lines = [text(self.left, self.top - 8, name, ' font-weight="bold"')]
        lines += axis(self.x, ticks(self.most_x), self.top, bottom)
        for tick in ticks(most):
            if tick < least - 1e-9:
                continue
            y = self.y(tick)
            lines.append(
                f'<path d="M{self.left} {y:.1f}H{right}" stroke="#ddd"/>'
            )
            lines.append(text(self.left - 6, y + 4, f"{tick:g}", ' class="e"'))
        lines.append(
            text((self.left + right) / 2, bottom + 32, label, ' class="m"')
        )
        return lines

    def path(self, points, more):
        steps = " ".join(f"{self.x(x):.1f},{self.y(y):.1f}" for x, y in points)
        return f'<polyline points="{steps}" fill="none" {more}/>'

    def level(self, value, name):
        y, right = self.y(value), self.left + self.width
        return [
            f'<path d="M{self.left} {y:.1f}H{right}" stroke="#000" '
            'stroke-dasharray="6 4"/>',
            text(right - 4, y + 14, name, ' class="e"'),
        ]


def _row(top, bounds, levels, panels, most_x, label, colour, width):
    wide = (WIDTH - LEFT - RIGHT - GAP * (len(panels) - 1)) / len(panels)
    lines = []
    for i, (name, curves) in enumerate(panels):
        panel = Panel(LEFT + i * (wide + GAP), top, wide, most_x, bounds)
        lines += panel.axes(name, label)
        for n, value in levels.items():
            lines += panel.level(value, n)
        for n, points in curves.items():
            stroke = f'stroke="{colour[n]}"'
            means = smooth(points, width)
            lines.append(panel.path(points, stroke + ' opacity="0.3"'))
            lines.append(panel.path(means, stroke + ' stroke-width="2"'))
    return lines


def draw(title, label, rows, width):
    """rows: [(bounds of the vertical axis, levels, panels)], levels: {name: y},
    panels: [(name, {curve: [(x, y)]})].  width: of smooth().  A curve's name
    that comes again has its colour again."""
    every = [curves for _, _, panels in rows for _, curves in panels]
    most_x = max(x for curves in every for c in curves.values() for x, _ in c)
    names = list(dict.fromkeys(n for curves in every for n in curves))
    colour = {n: COLOURS[i % len(COLOURS)] for i, n in enumerate(names)}
    lines, top = [], TOP
    for bounds, levels, panels in rows:
        lines += _row(
            top, bounds, levels, panels, most_x, label, colour, width
        )
        top += ROW + BETWEEN
    x, height = WIDTH - RIGHT, top - BETWEEN + BOTTOM
    for n in reversed(names):
        lines.append(text(x, 26, n, f' class="e" fill="{colour[n]}"'))
        x -= 8 * len(n) + 20
    return page(WIDTH, height, title, lines)
