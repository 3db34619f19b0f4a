"""Drawing a board with its pieces as SVG, from the descriptions of the board and the pieces alone.

`draw(board, pieces, cells)` takes `Board.describe()` and `Piece.describe()`: what a web page draws from, too.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from html import escape
from typing import Any

from meijin.core.pieces import contrast
from meijin.core.text_board import width

Point = Sequence[float]
Described = dict[str, Any]

_ACCENT = "#f08c00"
_SCALE = 40  # SVG units per cell; below about 10 some browsers refuse such small fonts
_MAN = ((0.0, -0.44), (0.27, -0.3), (0.36, 0.4), (-0.36, 0.4), (-0.27, -0.3))  # outline of a shogi piece


def draw(
    board: Described,
    pieces: Sequence[Described],
    cells: Sequence[int],
    last: Collection[int] = (),
    marks: Collection[int] = (),
    size: int = 360,
) -> str:
    """The position as one SVG element, `size` pixels on its longer side.

    `cells[i]` is the index in `pieces` of what is on cell i. Each cell's shape carries data-cell (its index) and
    data-name.
    """
    theme, shapes = board["theme"], board["cells"]
    left, top, wide, high = board["box"]
    scale = size / max(wide, high)
    letter = min(0.5, max(0.24, 0.045 * max(wide, high)))  # readable on large boards, modest on small ones
    title = f"{board['kind']} board, {len(shapes)} cells"
    if last:
        title += "; last move: " + " ".join(shapes[i]["name"] for i in sorted(last))
    box = f'x="{_at(left)}" y="{_at(top)}" width="{_at(wide)}" height="{_at(high)}" rx="{_at(0.2)}"'
    colours = {piece["owner"]: piece["fill"] for piece in reversed(pieces) if piece["fill"]}
    shown = [pieces[value] for value in cells]
    everything = [
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" width="{wide * scale:.0f}" height="{high * scale:.0f}"'
        f' viewBox="{_at(left)} {_at(top)} {_at(wide)} {_at(high)}" text-anchor="middle"'
        ' font-family="system-ui, Helvetica, Arial, sans-serif" stroke-linecap="round" stroke-linejoin="round">',
        f"<title>{escape(title.capitalize())}</title>",
        f'<rect {box} fill="{theme["back"]}"/>',
        *_lines(board),
        *(
            f'<path d="{_path(edge["line"], close=False)}" fill="none"'
            f' stroke="{colours.get(edge["seat"], theme["line"])}" stroke-width="{_at(0.2)}"/>'
            for edge in board["edges"]
        ),
        *(_cell(board, i) for i in range(len(shapes))),
        '<g pointer-events="none">',  # so that a click on a piece reaches its cell
        *(_piece(board, cell, piece) for cell, piece in zip(shapes, shown, strict=True)),
        *_joints(board),
        *(_mark(shapes[i], shown[i]) for i in sorted(marks)),
        *(_last(shapes[i], shown[i]) for i in sorted(last)),
        *(_words(label["text"], label["at"], letter, theme["ink"]) for label in board["labels"]),
        *(_tray_name(cell, theme) for cell in shapes if cell["tray"] is not None),
        "</g>",
        "</svg>",
    ]
    return "\n".join(part for part in everything if part)


def _at(value: float) -> str:
    return f"{round(value * _SCALE, 1):g}"


def _path(points: Iterable[Point], close: bool = True) -> str:
    return "M" + "L".join(f"{_at(x)} {_at(y)}" for x, y in points) + ("Z" if close else "")


def _circle(centre: Point, radius: float, style: str) -> str:
    return f'<circle cx="{_at(centre[0])}" cy="{_at(centre[1])}" r="{_at(radius)}" {style}/>'


def _words(text: str, centre: Point, height: float, fill: str, style: str = "") -> str:
    # dy centres the letters on the point; dominant-baseline is not drawn alike everywhere.
    x, y, size = _at(centre[0]), _at(centre[1]), _at(height)
    return f'<text x="{x}" y="{y}" dy=".35em" font-size="{size}" fill="{fill}"{style}>{escape(text)}</text>'


def _inset(cell: Described, factor: float) -> list[Point]:
    x, y = cell["centre"]
    return [(x + factor * (px - x), y + factor * (py - y)) for px, py in cell["outline"]]


def _lines(board: Described) -> list[str]:
    """The lines that join cells which are points, and the star points of a Go board."""
    if not board["lines"]:
        return []
    line = board["theme"]["line"]
    every = "".join(_path(pair, close=False) for pair in board["lines"])
    drawn = [f'<path d="{every}" fill="none" stroke="{line}" stroke-width="{_at(0.03)}"/>']
    return drawn + [_circle(star, 0.09, f'fill="{line}"') for star in board["stars"]]


def _cell(board: Described, i: int) -> str:
    """The shape of a cell, which also takes the clicks."""
    cell, theme = board["cells"][i], board["theme"]
    outline = cell["outline"]
    data = f'data-cell="{i}" data-name="{escape(cell["name"])}"'
    if len(outline) == 1:
        return _circle(cell["centre"], 0.5, f'fill="{theme["back"]}" fill-opacity="0" {data}')
    if len(outline) == 2:  # a broad unseen line is easier to click
        line = _path(outline, close=False)
        unseen = f'<path d="{line}" stroke="{theme["back"]}" stroke-opacity="0" stroke-width="{_at(0.3)}" {data}/>'
        return f'<path d="{line}" stroke="{theme["line"]}" stroke-width="{_at(0.05)}" pointer-events="none"/>{unseen}'
    fill = theme["other"] if cell["other"] else theme["cell"]
    shape = f'<path d="{_path(outline)}" fill="{fill}" stroke="{theme["line"]}" stroke-width="{_at(0.04)}" {data}/>'
    if theme["hole"] and cell["tray"] is None:
        shape += _circle(cell["centre"], 0.41, f'fill="{theme["hole"]}" pointer-events="none"')
    return shape


def _piece(board: Described, cell: Described, piece: Described) -> str:
    fill, glyph, shape, outline = piece["fill"], piece["glyph"], piece["shape"], cell["outline"]
    x, y = cell["centre"]
    drawn, ink = "", piece["ink"] or board["theme"]["ink"]
    turned = shape == "man" and piece["owner"] == 1
    if fill is not None:
        rim = f'stroke="{ink}" stroke-opacity="0.25" stroke-width="{_at(0.03)}"'
        if len(outline) == 2:
            return f'<path d="{_path(outline, close=False)}" stroke="{fill}" stroke-width="{_at(0.14)}"/>'
        if shape == "man":
            drawn = f'<path d="{_path((x + px, y + py) for px, py in _MAN)}" fill="{fill}" {rim}/>'
        elif len(outline) > 2 and (shape in ("tile", "die") or board["kind"] == "cube"):  # with round corners
            style = f'fill="{fill}" stroke="{fill}" stroke-width="{_at(0.12)}"'
            drawn = f'<path d="{_path(_inset(cell, 0.78))}" {style}/>'
        else:
            radius = 0.46 if len(outline) == 1 else 0.39
            drawn = _circle((x + 0.02, y + 0.04), radius, 'fill="#000000" fill-opacity="0.2"')
            drawn += _circle((x, y), radius, f'fill="{fill}" {rim}')
    if glyph:
        drawn += _words(glyph, (x, y), min(0.52, 1.2 / width(glyph)), ink, ' font-weight="600"')
    return f'<g transform="rotate(180 {_at(x)} {_at(y)})">{drawn}</g>' if turned else drawn


def _joints(board: Described) -> list[str]:
    """The points that links join."""
    ends = {tuple(point) for cell in board["cells"] if len(cell["outline"]) == 2 for point in cell["outline"]}
    return [_circle(point, 0.13, f'fill="{board["theme"]["ink"]}"') for point in sorted(ends)]


def _mark(cell: Described, piece: Described) -> str:
    if len(cell["outline"]) == 2:
        dashes = f'stroke-width="{_at(0.1)}" stroke-dasharray="{_at(0.01)} {_at(0.25)}"'
        return f'<path class="mark" d="{_path(cell["outline"], close=False)}" stroke="{_ACCENT}" {dashes}/>'
    rim = f'stroke="#ffffff" stroke-width="{_at(0.04)}"'
    x, y = cell["centre"]
    aside = 0.3 if piece["glyph"] else 0  # do not cover the text
    return _circle((x + aside, y - aside), 0.13, f'class="mark" fill="{_ACCENT}" {rim}')


def _last(cell: Described, piece: Described) -> str:
    colour = _ACCENT if piece["fill"] is None else contrast(piece["fill"])
    style = f'class="last" fill="none" stroke="{colour}" stroke-width="{_at(0.06)}"'
    if len(cell["outline"]) == 2:
        return f'<path d="{_path(cell["outline"], close=False)}" {style}/>'
    if len(cell["outline"]) == 1 or not piece["glyph"]:
        return _circle(cell["centre"], 0.2, style)
    return f'<path d="{_path(_inset(cell, 0.8))}" {style}/>'


def _tray_name(cell: Described, theme: Described) -> str:
    x, y = cell["outline"][0]
    return _words(cell["name"], (x + 0.15, y + 0.17), 0.24, theme["line"])
