"""What the pictures have in common: colours, ticks, axis, text, and the page."""

from xml.sax.saxutils import escape

COLOURS = "#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377"
# Text that is centred at its place, and that ends there.
STYLE = ".m { text-anchor: middle } .e { text-anchor: end }"


def _apart(most):
    """1, 2 or 5 times a power of ten."""
    power = 10.0**-6
    while True:
        for factor in (1, 2, 5):
            if most <= 10 * factor * power:
                return factor * power
        power *= 10


def ticks(most):
    """From 0 to most, at most ten steps of equal size."""
    apart = _apart(most)
    return [i * apart for i in range(int(most / apart + 1e-9) + 1)]


def text(x, y, what, more=""):
    return f'<text x="{x:.1f}" y="{y:.1f}"{more}>{escape(what)}</text>'


def axis(x, steps, top, bottom, form="{:g}", zero="#ddd", above=False):
    """Vertical lines at steps of a horizontal axis, with numbers below the
    lines.  x: from a step to pixels; zero: the colour of the line at 0; above:
    numbers stand above the lines, too."""
    lines, places = [], [bottom + 16] + [top - 3] * above
    for step in steps:
        colour = "#ddd" if step else zero
        lines.append(
            f'<path d="M{x(step):.1f} {top}V{bottom}" stroke="{colour}"/>'
        )
        lines += [
            text(x(step), y, form.format(step), ' class="m"') for y in places
        ]
    return lines


def page(width, height, title, lines):
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" '
            f'height="{height}" font-family="sans-serif" font-size="12">',
            f"<style>{STYLE}</style>",
            f'<rect width="{width}" height="{height}" fill="#fff"/>',
            text(10, 26, title, ' font-size="15"'),
            *lines,
            "</svg>",
            "",
        ]
    )
