#!/usr/bin/python3
"""Draws docs/pictures/iteration.svg: one iteration as nodes and edges.

Two pipeline ranks, three microbatches, each list of nodes (F, B, W) one box,
all of equal length.  The places are those of windows 2 and 1+1 under the
priorities of graph/schedule/; nothing is measured.

    docs/pictures/iteration.py >docs/pictures/iteration.svg
"""

UNIT, WIDTH, HEIGHT, LEFT = 74, 62, 40, 66
TOP = {0: 92, 1: 232}
COLOR = {"F": "#4477aa", "B": "#ee6677", "W": "#ccbb44",
         "norm": "#777777", "Adam": "#228833"}
WHITE = {"F", "norm", "Adam"}
# (rank, pass, microbatch): its place in time.
PLACE = {
    (0, "F", 0): 0, (0, "F", 1): 1, (0, "B", 0): 3, (0, "W", 0): 4,
    (0, "F", 2): 5, (0, "B", 1): 6, (0, "W", 1): 7, (0, "B", 2): 8,
    (0, "W", 2): 9,
    (1, "F", 0): 1, (1, "B", 0): 2, (1, "F", 1): 3, (1, "B", 1): 4,
    (1, "W", 0): 5, (1, "F", 2): 6, (1, "B", 2): 7, (1, "W", 1): 8,
    (1, "W", 2): 9,
}


def box(x, y, label, kind, height=HEIGHT, faint=False):
    ink = "#fff" if kind in WHITE else "#222"
    faint = ' opacity=".45"' if faint else ""
    print(f'<g{faint}><rect x="{x}" y="{y}" width="{WIDTH}" height="{height}"'
          f' rx="4" fill="{COLOR[kind]}"/><text x="{x + WIDTH / 2}"'
          f' y="{y + height / 2 + 5}" text-anchor="middle" fill="{ink}">'
          f'{label}</text></g>')


def left(rank, kind, microbatch):
    return LEFT + UNIT * PLACE[rank, kind, microbatch]


def arrow(path, style=""):
    print(f'<path d="{path}" fill="none" stroke="#222" marker-end="url(#a)"'
          f' {style}/>')


def text(x, y, words, more=""):
    print(f'<text x="{x}" y="{y}" {more}>{words}</text>')


def message(sender, receiver, kind, microbatch):
    """An arrow from the right end of one box to the left end of another."""
    x0, x1 = left(sender, kind, microbatch), left(receiver, kind, microbatch)
    down = receiver > sender
    y0 = TOP[sender] + (HEIGHT if down else 0)
    y1 = TOP[receiver] + (0 if down else HEIGHT)
    arrow(f"M{x0 + WIDTH - 6} {y0} L{x1 + 6} {y1}")


def arc(rank, begin, end, lift, style=""):
    """An arrow over (rank 0) or under (rank 1) the boxes between."""
    x0 = left(rank, *begin) + WIDTH / 2
    x1 = left(rank, *end) + WIDTH / 2
    y = TOP[rank] + (HEIGHT if rank else 0)
    peak = y + lift if rank else y - lift
    arrow(f"M{x0} {y} C{x0} {peak} {x1} {peak} {x1} {y}", style)


def main():
    width = LEFT + 13 * UNIT + 8
    print(f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}"'
          f' height="372" viewBox="0 0 {width} 372" font-size="14"'
          ' font-family="Helvetica, Arial, sans-serif" fill="#222">')
    print('<defs><marker id="a" viewBox="0 0 8 8" refX="7" refY="4"'
          ' markerWidth="8" markerHeight="8" orient="auto"><path'
          ' d="M0 0 L8 4 L0 8z" fill="#222"/></marker></defs>')
    print(f'<rect width="{width}" height="372" fill="#fff"/>')
    for rank in TOP:
        text(4, TOP[rank] + HEIGHT / 2 + 5, f"rank {rank}")
    for (rank, kind, microbatch), place in PLACE.items():
        box(LEFT + UNIT * place, TOP[rank], f"{kind}{microbatch}", kind)
    for microbatch in range(3):
        message(0, 1, "F", microbatch)
        message(1, 0, "B", microbatch)
    arc(0, ("F", 0), ("B", 0), 40)
    arc(0, ("B", 0), ("W", 0), 26)
    arc(0, ("W", 0), ("F", 2), 30, 'stroke-dasharray="5 4"')
    arc(1, ("B", 0), ("F", 1), 30, 'stroke-dasharray="5 4"')
    arc(1, ("W", 0), ("F", 2), 30, 'stroke-dasharray="5 4"')
    box(LEFT + 10 * UNIT, TOP[0], "norm", "norm",
        TOP[1] - TOP[0] + HEIGHT)
    for rank in TOP:
        box(LEFT + 11 * UNIT, TOP[rank], "Adam", "Adam")
    box(LEFT + 12 * UNIT, TOP[0], "F0", "F", faint=True)
    text(LEFT, 24, "Solid: data. A message goes from rank to rank; activations"
         " of F wait for B, gradients of B for W.")
    text(LEFT, 44, "Dashed: a slot of a ring is free again: the activation"
         " window. Edges and priorities make the schedule.")
    text(LEFT, 336, "Program order of rank 0: F0, B0, W0, F1, B1, W1, F2, B2,"
         " W2, norm (an all-reduce of all ranks), Adam.")
    text(LEFT, 356, "The order in the picture follows from edges and"
         " priorities. The faint box belongs to the next iteration.")
    print("</svg>")


main()
