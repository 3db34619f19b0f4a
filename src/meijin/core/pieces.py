"""Pieces: how a value of a cell looks."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from meijin.core.errors import BadParameter

#: What a piece can look like. "auto": a line on a link, a tile if its text is shown, else a disc.
SHAPES = ("auto", "disc", "tile", "man", "die")


@dataclass(frozen=True, slots=True)
class Piece:
    """How a value of a cell looks. A piece with neither `fill` nor `label` is an empty cell."""

    text: str  # what the text board shows: ".", "X", "2048"
    owner: int | None = None  # the seat it belongs to; None for empty and neutral
    fill: str | None = None  # its colour "#rrggbb"; None: only its text is drawn, if `label` (a die is white)
    label: bool = False  # pictures show the text too
    glyph: str = ""  # what pictures show instead of the text, such as a kanji
    shape: str = "auto"  # one of `SHAPES`; "man" is a shogi piece, which points away from its owner

    def __post_init__(self) -> None:
        if not self.text or not self.text.isprintable():
            raise BadParameter(f"piece text {self.text!r} cannot be drawn; give one or more printable characters")
        if self.fill is not None and not re.fullmatch("#[0-9a-fA-F]{6}", self.fill):
            raise BadParameter(f"piece {self.text!r}: fill={self.fill!r}: give a colour such as '#c8342c'")
        if self.shape not in SHAPES:
            raise BadParameter(f"piece {self.text!r}: shape={self.shape!r}: choose one of {', '.join(SHAPES)}")

    @property
    def empty(self) -> bool:
        return self.fill is None and not self.label

    def describe(self) -> dict[str, Any]:
        """The piece as plain data: `glyph` is what a picture writes on it ("" for nothing), `ink` in which colour."""
        fill = "#ffffff" if self.fill is None and self.label and self.shape == "die" else self.fill
        return {
            "text": self.text,
            "glyph": (self.glyph or self.text) if self.label or self.glyph else "",
            "fill": fill,
            "ink": None if fill is None else contrast(fill),
            "owner": self.owner,
            "shape": ("tile" if self.label else "disc") if self.shape == "auto" else self.shape,
        }


def rgb(colour: str) -> tuple[int, int, int]:
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)


def contrast(fill: str) -> str:
    """Black or white, whichever reads better on the colour."""
    red, green, blue = rgb(fill)
    return "#1f1f1f" if 0.299 * red + 0.587 * green + 0.114 * blue > 140 else "#ffffff"
