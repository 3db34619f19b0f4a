"""Pictures of positions and games: SVG as `meijin.core.svg` draws it; PNG, GIF and WebP of the same by Pillow.

`render` draws the few elements that our own SVG uses: rect, circle, path of straight lines, text, and g that turns.
"""

from __future__ import annotations

import io
import itertools
import math
import re
import xml.etree.ElementTree as ET
from collections.abc import Callable, Sequence
from functools import lru_cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from meijin.core.errors import BadParameter
from meijin.core.game import Game
from meijin.core.state import State
from meijin.core.svg import draw
from meijin.web.server.work.rules import game_of

if TYPE_CHECKING:
    from PIL.Image import Image

    from meijin.web.server.work.worker import Ask

FINER = 2  # pictures are drawn so much larger and made smaller, for smooth edges
MOST_FRAMES = 400
LAST_FRAME = 2000  # milliseconds that the end of a game is shown
LATIN = 0x24F  # characters up to here are in Pillow's own font

Point = tuple[float, float]


def formats() -> list[str]:
    """What there is here."""
    return ["svg", "png", "gif", "webp"] if find_spec("PIL") else ["svg"]


def picture(ask: Ask) -> bytes:
    """A position as a picture, or a game as an animated one."""
    game, kind, size = game_of(ask.args["game"]), ask.args["format"], ask.args["size"]
    if kind not in formats():
        raise BadParameter(f"{kind} pictures need Pillow: pip install pillow")
    state = State(game) if ask.args["position"] is None else State.from_position(game, ask.args["position"])
    if kind in ("svg", "png"):
        state.play_line(ask.args["moves"])
        if kind == "svg":
            return _svg(state, _pieces(game), size).encode()
        return _encoded([_image(state, size)], "PNG")
    frames = [_image(state, size)] if not state.is_chance else []
    for move in ask.args["moves"]:
        state.play(move)
        if len(frames) >= MOST_FRAMES:
            raise BadParameter(f"the game is too long for a moving picture; at most {MOST_FRAMES} moves are shown")
        if not state.is_chance:
            frames.append(_image(state, size))
    return _encoded(frames, kind.upper(), ask.args["delay"])


def _pieces(game: Game, latin: bool = False) -> list[dict[str, Any]]:
    found = [piece.describe() for piece in game.pieces]
    for each in found:
        if latin and any(ord(letter) > LATIN for letter in each["glyph"]):
            each["glyph"] = each["text"]
    return found


def _svg(state: State, pieces: Sequence[dict[str, Any]], size: int) -> str:
    return draw(state.game.board.describe(), pieces, state.cells, state.last_cells, size=size)


def _image(state: State, size: int) -> Image:
    return render(_svg(state, _pieces(state.game, latin=True), size))


def _encoded(frames: Sequence[Image], kind: str, delay: int = 0) -> bytes:
    from PIL.Image import Dither

    file = io.BytesIO()
    if len(frames) == 1:
        frames[0].save(file, kind)
        return file.getvalue()
    times = [delay] * (len(frames) - 1) + [LAST_FRAME]
    if kind == "GIF":
        busiest = max(frames, key=lambda frame: len(frame.getcolors(1 << 16) or ()))
        palette = busiest.quantize(256)
        frames = [frame.quantize(palette=palette, dither=Dither.NONE) for frame in frames]
    frames[0].save(file, kind, save_all=True, append_images=frames[1:], duration=times, loop=0)
    return file.getvalue()


# ---- our own SVG as pixels ----


def render(text: str) -> Image:
    from PIL import Image, ImageDraw

    root = ET.fromstring(text)
    left, top, wide, _ = map(float, root.attrib["viewBox"].split())
    size = int(root.attrib["width"]) * FINER, int(root.attrib["height"]) * FINER
    image = Image.new("RGB", size, "#ffffff")
    pen = _Pen(image, ImageDraw.Draw(image, "RGBA"), (left, top), size[0] / wide)
    for element in root:
        pen.element(element, None)
    return image.resize((size[0] // FINER, size[1] // FINER), Image.Resampling.BOX)


class _Pen:
    """Draws elements on an image; `turn` is the centre of a half turn, if there is one."""

    def __init__(self, image: Image, on: Any, origin: Point, scale: float):
        self._image, self._on, self._origin, self._scale = image, on, origin, scale

    def element(self, element: ET.Element, turn: Point | None) -> None:
        kind, said = element.tag.rpartition("}")[2], element.attrib
        if kind == "g":
            if match := re.match(r"rotate\(180 (\S+) (\S+)\)", said.get("transform", "")):
                turn = float(match[1]), float(match[2])
            for inner in element:
                self.element(inner, turn)
        elif kind == "rect":
            x, y, w, h = (float(said[name]) for name in ("x", "y", "width", "height"))
            box = (*self._at((x, y)), *self._at((x + w, y + h)))
            self._on.rounded_rectangle(box, float(said["rx"]) * self._scale, _colour(said, "fill"))
        elif kind == "circle":
            self._circle(said, turn)
        elif kind == "path":
            self._path(said, turn)
        elif kind == "text":
            self._text(element.text or "", said, turn)

    def _at(self, point: Point, turn: Point | None = None) -> Point:
        x, y = point
        if turn is not None:
            x, y = 2 * turn[0] - x, 2 * turn[1] - y
        return (x - self._origin[0]) * self._scale, (y - self._origin[1]) * self._scale

    def _circle(self, said: dict[str, str], turn: Point | None) -> None:
        x, y = self._at((float(said["cx"]), float(said["cy"])), turn)
        radius, width = float(said["r"]) * self._scale, float(said.get("stroke-width", 0)) * self._scale
        fill, stroke = _colour(said, "fill"), _colour(said, "stroke")
        if fill is not None:
            self._on.ellipse((x - radius, y - radius, x + radius, y + radius), fill)
        if stroke is not None:
            outer = radius + width / 2
            box = (x - outer, y - outer, x + outer, y + outer)
            self._on.ellipse(box, None, stroke, max(1, round(width)))

    def _path(self, said: dict[str, str], turn: Point | None) -> None:
        fill, stroke = _colour(said, "fill"), _colour(said, "stroke")
        width = max(1, round(float(said.get("stroke-width", 0)) * self._scale))
        for part in filter(None, said["d"].split("M")):
            points = [self._at(_point(text), turn) for text in part.rstrip("Z").split("L")]
            closed = part.endswith("Z")
            if closed and fill is not None:
                self._on.polygon(points, fill)
            if stroke is None:
                continue
            line = [*points, points[0]] if closed else points
            if "stroke-dasharray" in said:
                self._dots(line, said, stroke, width)
                continue
            self._on.line(line, stroke, width, "curve")
            if stroke[3] == 255 and width > 2:
                for x, y in line:  # round ends and corners
                    self._on.ellipse((x - width / 2, y - width / 2, x + width / 2, y + width / 2), stroke)

    def _dots(self, line: Sequence[Point], said: dict[str, str], stroke: Any, width: int) -> None:
        gap = float(said["stroke-dasharray"].split()[1]) * self._scale
        for (ax, ay), (bx, by) in itertools.pairwise(line):
            count = max(1, int(math.hypot(bx - ax, by - ay) / gap))
            for k in range(count + 1):
                x, y = ax + (bx - ax) * k / count, ay + (by - ay) * k / count
                self._on.ellipse((x - width / 2, y - width / 2, x + width / 2, y + width / 2), stroke)

    def _text(self, text: str, said: dict[str, str], turn: Point | None) -> None:
        from PIL import Image, ImageDraw

        x, y = self._at((float(said["x"]), float(said["y"])), turn)
        font = _font(max(4, round(float(said["font-size"]) * self._scale)))
        bold = 1 if "font-weight" in said else 0
        fill = _colour(said, "fill")
        if turn is None:
            self._on.text((x, y), text, fill, font, anchor="mm", stroke_width=bold)
            return
        left, top, right, bottom = (round(edge) for edge in font.getbbox(text, anchor="mm", stroke_width=bold))
        side = 2 * max(-left, -top, right, bottom) + 4
        patch = Image.new("L", (side, side))
        ImageDraw.Draw(patch).text((side / 2, side / 2), text, 255, font, anchor="mm", stroke_width=bold)
        self._image.paste(
            Image.new("RGB", patch.size, fill), (round(x - side / 2), round(y - side / 2)), patch.rotate(180)
        )


@lru_cache(maxsize=64)
def _font(size: int) -> Any:
    from PIL import ImageFont

    return ImageFont.load_default(size)


def _point(text: str) -> Point:
    x, y = text.split()
    return float(x), float(y)


def _colour(said: dict[str, str], name: str) -> Any:
    """Red, green, blue and opacity; None for none. A shape without `fill` has none in our drawings."""
    colour = said.get(name, "none")
    if colour == "none":
        return None
    opacity = float(said.get(f"{name}-opacity", 1))
    return None if opacity == 0 else (*(int(colour[k : k + 2], 16) for k in (1, 3, 5)), round(255 * opacity))


def calls() -> dict[str, Callable[[Ask], Any]]:
    return {"picture": picture}
