"""Boards: names, neighbours and symmetries obey their laws, and drawings show what is on them."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from itertools import product

import numpy as np
import pytest

from meijin.core.boards import Board, complete, cube, graph, heaps, hexagon, letters, rhombus, square
from meijin.core.errors import BadParameter, UnknownName
from meijin.core.pieces import Piece

EMPTY, BLACK, WHITE = Piece("."), Piece("X", 0, "#1d1f21"), Piece("O", 1, "#f5f3ee")
STONES = (EMPTY, BLACK, WHITE)
SVG = "{http://www.w3.org/2000/svg}"

CROSS = {"w": (0.0, 1.0), "n": (1.0, 0.0), "e": (2.0, 1.0), "s": (1.0, 2.0), "m": (1.0, 1.0)}
SPOKES = [("m", "w"), ("m", "n"), ("m", "e"), ("m", "s")]

BOARDS = {
    "square 3": (square(3), 8),
    "square 8 top": (square(8, rows_from="top"), 8),
    "square 6x7": (square(6, 7, columns_as="numbers"), 4),
    "points 19": (square(19, points=True, skip_i=True), 8),
    "points 2x3": (square(2, 3, points=True), 4),
    "wide 2x30": (square(2, 30), 4),
    "row": (square(1, 5), 2),
    "one": (square(1), 1),
    "rhombus 1": (rhombus(1), 1),
    "rhombus 11": (rhombus(11), 4),
    "hexagon 2": (hexagon(2), 12),
    "hexagon 5": (hexagon(5), 12),
    "k6": (complete(6), 12),
    "k5": (complete(5), 10),
    "cross points": (graph(CROSS, SPOKES, play="points"), 8),
    "cross links": (graph(CROSS, SPOKES), 8),
    "heaps": (heaps((3, 5, 7)), 1),
    "cube 2": (cube(2), 1),
    "cube 3": (cube(3), 1),
    "trays": (square(5).with_trays({0: ("R", "B"), 1: ("r", "b")}), 8),
}
every_board = pytest.mark.parametrize("board", [board for board, _ in BOARDS.values()], ids=list(BOARDS))


def empty(board: Board) -> list[int]:
    return [0] * len(board.cells)


def placed(board: Board, **stones: int) -> list[int]:
    values = empty(board)
    for name, value in stones.items():
        values[board.index(name)] = value
    return values


# Cells, names, neighbours


@every_board
def test_names_are_unique_and_found(board: Board) -> None:
    assert [board.index(cell.name) for cell in board.cells] == list(range(len(board.cells)))


@every_board
def test_neighbours_are_symmetric_and_ascending(board: Board) -> None:
    for i, near in enumerate(board.neighbours):
        assert list(near) == sorted(set(near) - {i})
        assert all(i in board.neighbours[j] for j in near)


@every_board
def test_the_grid_gives_each_cell_its_own_place(board: Board) -> None:
    if board.grid is None or board.grid_index is None:
        assert board.grid is board.grid_index is None
        return
    on_board = [cell for cell in board.cells if cell.tray is None]
    assert len(set(board.grid_index)) == len(board.grid_index) == len(on_board)
    assert all(0 <= place < board.grid[0] * board.grid[1] for place in board.grid_index)


def test_square_names_and_directions() -> None:
    board = square(8)
    assert board.cells[0].name == "a8" and board.cells[-1].name == "h1"
    assert board.cells[board.index("d3")].centre == (3, 5)
    assert square(8, rows_from="top").cells[0].name == "a1"
    assert [cell.name for cell in square(1, 9, skip_i=True).cells][-2:] == ["h1", "j1"]
    assert square(6, 7, columns_as="numbers").index("g1") == 41
    assert len(board.neighbours[board.index("a1")]) == 2 and len(board.neighbours[board.index("d4")]) == 4


def test_letters_go_on_after_z() -> None:
    assert [letters(i) for i in (0, 25, 26, 27, 51, 52, 702)] == ["a", "z", "aa", "ab", "az", "ba", "aaa"]
    assert letters(8, skip_i=True) == "j" and letters(25, skip_i=True) == "aa"


def test_rhombus_corners_have_two_or_three_neighbours() -> None:
    board = rhombus(11)
    degrees = {name: len(board.neighbours[board.index(name)]) for name in ("a1", "k1", "a11", "k11", "f6")}
    assert degrees == {"a1": 2, "k1": 3, "a11": 3, "k11": 2, "f6": 6}


def test_hexagon_is_named_as_in_the_abalone_literature() -> None:
    board = hexagon(5)
    rows = {letter: [c.name for c in board.cells if c.name[0] == letter] for letter in "aei"}
    assert len(board.cells) == 61 and board.grid == (9, 9) and board.grid_index is not None
    assert rows["i"] == [f"i{k}" for k in range(5, 10)] and board.cells[0].name == "i5"
    assert rows["e"] == [f"e{k}" for k in range(1, 10)]
    assert rows["a"] == [f"a{k}" for k in range(1, 6)] and board.cells[-1].name == "a5"
    near = {board.cells[j].name for j in board.neighbours[board.index("e5")]}
    assert near == {"e4", "e6", "d4", "d5", "f5", "f6"}
    assert board.grid_index[board.index("i9")] == 8 and board.grid_index[board.index("a1")] == 72


def test_cube_coordinates_are_those_of_the_abalone_literature() -> None:
    board = hexagon(5)
    known = {"a1": (-4, 4, 0), "e5": (0, 0, 0), "a5": (0, 4, -4), "i5": (0, -4, 4), "e9": (4, 0, -4)}
    assert {name: board.cube(board.index(name)) for name in known} == known
    ways = {"f6": (1, -1, 0), "e6": (1, 0, -1), "d5": (0, 1, -1), "d4": (-1, 1, 0), "e4": (-1, 0, 1), "f5": (0, -1, 1)}
    assert {name: board.cube(board.index(name)) for name in ways} == ways  # clockwise from the north-east
    clockwise = tuple(board.at_cube(-r, -s, -q) for q, r, s in map(board.cube, range(61)))
    assert clockwise == board.symmetries["rotate60"]


@pytest.mark.parametrize("side", [1, 2, 5, 8])
def test_cube_coordinates_lead_back_to_the_cell(side: int) -> None:
    board = hexagon(side)
    found = [board.cube(cell) for cell in range(len(board.cells))]
    assert all(sum(cube) == 0 for cube in found)
    assert [board.at_cube(*cube) for cube in found] == list(range(len(board.cells)))
    for cell, near in enumerate(board.neighbours):  # neighbours are one step away, others further
        away = [sum(abs(a - b) for a, b in zip(found[cell], other, strict=True)) // 2 for other in found]
        assert [other for other, steps in enumerate(away) if steps == 1] == list(near)


def test_heaps_count_from_the_bottom() -> None:
    board = heaps((3, 5, 7))
    assert [cell.name for cell in board.cells[:5]] == ["a1", "a2", "a3", "b1", "b2"]
    assert board.cells[0].centre[1] > board.cells[1].centre[1]  # y points down
    assert board.neighbours[board.index("b1")] == (board.index("b2"),)


def test_cube_faces_meet_around_every_edge() -> None:
    board = cube(3)
    assert [board.cells[9 * k].name for k in range(6)] == ["u1", "r1", "f1", "d1", "l1", "b1"]
    assert all(len(near) == 4 for near in board.neighbours)
    for pair in ["u8f2", "u6r2", "u4l2", "u2b2", "f6r4", "r6b4", "b6l4", "l6f4", "d2f8", "d4l8", "d6r8", "d8b8"]:
        assert board.index(pair[2:]) in board.neighbours[board.index(pair[:2])], pair


def test_links_are_neighbours_when_they_share_a_point() -> None:
    board = complete(6)
    assert len(board.cells) == 15 and all(len(near) == 8 for near in board.neighbours)
    assert board.index("cd") not in board.neighbours[board.index("ab")]
    points = graph(CROSS, SPOKES, play="points")
    assert [len(near) for near in points.neighbours] == [1, 1, 1, 1, 4]
    assert graph({"p1": (0, 0), "p2": (1, 0)}, [("p1", "p2")]).cells[0].name == "p1-p2"


def test_trays_come_last_and_lie_beside_the_board() -> None:
    plain = square(5)
    board = plain.with_trays({0: ("R", "B"), 1: ("r", "b", "s")})
    assert board.cells[:25] == plain.cells
    assert [(cell.name, cell.tray) for cell in board.cells[25:]] == [("R", 0), ("B", 0), ("r", 1), ("b", 1), ("s", 1)]
    assert board.neighbours[25:] == ((),) * 5 and board.grid_index == plain.grid_index
    assert all(cell.centre[1] > 5 for cell in board.cells[25:27])
    assert all(cell.centre[1] < 0 for cell in board.cells[27:])
    assert all(p[25:] == (25, 26, 27, 28, 29) for p in board.symmetries.values())
    with pytest.raises(BadParameter, match="two cells are named 'R'; give each its own name"):
        plain.with_trays({0: ("R",), 1: ("R",)})


# Symmetries


@pytest.mark.parametrize(("board", "count"), BOARDS.values(), ids=list(BOARDS))
def test_symmetries_are_a_group_that_keeps_neighbours(board: Board, count: int) -> None:
    found = set(board.symmetries.values())
    identity = tuple(range(len(board.cells)))
    assert len(found) == len(board.symmetries) == count
    assert next(iter(board.symmetries.items())) == ("identity", identity)
    for p in found:
        assert sorted(p) == list(identity)
        for i, near in enumerate(board.neighbours):
            assert {p[j] for j in near} == set(board.neighbours[p[i]])
    assert {tuple(p[i] for i in q) for p, q in product(found, repeat=2)} == found


def test_square_symmetries_do_what_their_names_say() -> None:
    board = square(4)
    cells = np.arange(16).reshape(4, 4)
    # moved[p] = cells puts what was on cell i on cell p[i]
    expected = {
        "identity": cells,
        "rotate90": np.rot90(cells, -1),  # clockwise
        "rotate180": np.rot90(cells, 2),
        "rotate270": np.rot90(cells, 1),
        "mirror": cells[:, ::-1],
        "flip": cells[::-1],
        "transpose": cells.T,
        "antitranspose": cells[::-1, ::-1].T,
    }
    assert set(board.symmetries) == set(expected)
    for name, image in expected.items():
        moved = np.empty(16, int)
        moved[list(board.symmetries[name])] = cells.ravel()
        assert (moved.reshape(4, 4) == image).all(), name


def test_names_of_the_other_symmetries() -> None:
    assert set(square(6, 7).symmetries) == {"identity", "rotate180", "mirror", "flip"}
    sheared = rhombus(5)
    assert set(sheared.symmetries) == {"identity", "rotate180", "transpose", "antitranspose"}
    assert sheared.symmetries["transpose"] == tuple(np.arange(25).reshape(5, 5).T.ravel())
    turns = {f"rotate{a}" for a in range(60, 360, 60)}
    mirrors = {"mirror", "flip", "mirror30", "mirror60", "mirror120", "mirror150"}
    board = hexagon(3)
    assert set(board.symmetries) == {"identity"} | turns | mirrors
    assert board.symmetries["mirror"][board.index("a1")] == board.index("a3")
    assert board.symmetries["flip"][board.index("a1")] == board.index("e3")
    assert board.symmetries["rotate60"][board.index("a1")] == board.index("c1")  # clockwise from the bottom left


def test_a_drawing_without_symmetry_has_only_the_identity() -> None:
    board = graph([(0, 0), (1, 0), (0, 2)], [(0, 1), (1, 2), (0, 2)])
    assert list(board.symmetries) == ["identity"]


def test_equal_heaps_can_be_exchanged() -> None:
    board = heaps((2, 3, 2))
    assert board.symmetries == {"identity": (0, 1, 2, 3, 4, 5, 6), "swap_a_c": (5, 6, 2, 3, 4, 0, 1)}
    assert list(heaps((1, 1, 1)).symmetries) == ["identity", "swap_a_b", "swap_a_c", "swap_b_c"]


# Text


def lines(*rows: str) -> str:
    return "\n".join(rows)


def test_text_of_a_small_board() -> None:
    board = square(3)
    values = np.array(placed(board, a3=1, b2=2))
    assert board.text(values, STONES) == lines("3 X . .", "2 . O .", "1 . . .", "  a b c")


def test_last_and_marks_show_without_colour() -> None:
    board = square(3, rows_from="top")
    values = placed(board, a1=1, b2=1, c2=2)
    cell = board.index
    drawn = board.text(values, STONES, last=[cell("b2"), cell("a3")], marks=[cell("a1"), cell("c1"), cell("c2")])
    assert drawn == lines("  a b c", "1(X). +", "2 .[X|O)", "3[.]. .")


def test_columns_can_be_numbered_below() -> None:
    board = square(2, 11, columns_as="numbers")
    rows = board.text(placed(board, k1=1), STONES).splitlines()
    assert len(rows) == 3 and rows[-1].split() == [str(c) for c in range(1, 12)]
    assert rows[1].rindex("X") in range(rows[2].rindex("11"), len(rows[2]))


def test_the_board_does_not_shift_when_a_bracket_stands_at_its_rim() -> None:
    board = square(6, 7, columns_as="numbers")
    before, after = (board.text(empty(board), STONES, last=last).splitlines() for last in ([], [35]))
    assert before[:5] == after[:5] and after[5] == "[.]. . . . . ."


def test_two_digit_rows_stay_aligned() -> None:
    board = square(19, points=True)
    rows = board.text(empty(board), STONES).splitlines()
    assert {row.index(".") for row in rows[:19]} == {rows[19].index("a")} == {3}
    assert rows[0].startswith("19 . .") and rows[18].startswith(" 1 . .")


def test_text_of_sheared_and_staggered_boards() -> None:
    assert rhombus(3).text(empty(rhombus(3)), STONES) == lines(" a b c", "1 . . .", " 2 . . .", "  3 . . .")
    board = hexagon(2)
    assert board.text(placed(board, a1=1, c3=2), STONES) == lines(
        " c . O", "b . . .", " a X . 3", "    1 2"
    )  # each number ends the diagonal that rises to the left


def test_text_of_heaps_and_of_the_net_of_a_cube() -> None:
    assert heaps((1, 2)).text([1, 1, 0], STONES) == lines("2    .", "1 X  X", "  a  b")
    board = cube(2)
    faces = [Piece(letter) for letter in "URFDLB"]
    assert board.text([i // 4 for i in range(24)], faces) == lines(
        *["      U U"] * 2, *[" L L  F F  R R  B B"] * 2, *["      D D"] * 2
    )


def test_links_are_listed_by_name() -> None:
    board = complete(4)
    drawn = board.text(placed(board, ac=1, cd=2), STONES, last=[board.index("cd")], marks=[board.index("ab")])
    assert drawn == lines("ab +  ac X  ad .", "bc .  bd .", "cd[O]")


def test_columns_grow_with_the_widest_piece() -> None:
    pieces = [EMPTY, *(Piece(str(2**k), None, "#edc22e", True) for k in range(1, 18))]
    board = square(4)
    rows = board.text([*range(2, 18)], pieces, last=[15], marks=[14]).splitlines()
    assert rows[3].split() == ["1", "16384", "32768", "(65536)[131072]"]
    columns = [[m.start() + len(m[0]) / 2 for m in re.finditer(r"\d+", row[1:])] for row in rows[:4]]
    assert all(max(c) - min(c) <= 1 for c in zip(*columns, strict=True))  # centred, to half a column either way


def test_wide_characters_take_two_columns() -> None:
    board = square(1, 2)
    assert board.text([1, 0], [EMPTY, Piece("王")]).splitlines()[0] == "1 王   ."


def test_trays_are_named_above_and_below() -> None:
    board = square(2, theme="wood").with_trays({0: ("R", "B"), 1: ("r", "b")})
    drawn = board.text([0] * 4 + [1, 0, 0, 2], STONES, marks=[4])
    assert drawn == lines("r .  b O", "2 . .", "1 . .", "  a b", "R(X) B .")


@every_board
def test_colour_adds_nothing_but_codes(board: Board) -> None:
    values = [i % 3 for i in range(len(board.cells))]
    plain = board.text(values, STONES, last=[0], marks=[len(values) - 1])
    coloured = board.text(values, STONES, last=[0], marks=[len(values) - 1], ansi=True)
    assert "\x1b[" in coloured and "\x1b" not in plain
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == plain


# SVG


@every_board
def test_svg_is_well_formed_and_every_cell_can_be_clicked(board: Board) -> None:
    values = [i % 3 for i in range(len(board.cells))]
    root = ET.fromstring(board.svg(values, STONES, last=[0], marks=[0], size=500))
    assert root.tag == SVG + "svg" and max(int(root.attrib["width"]), int(root.attrib["height"])) == 500
    title = root.findtext(SVG + "title") or ""
    assert board.kind in title.lower() and board.cells[0].name in title
    shapes = [e.attrib for e in root.iter() if "data-cell" in e.attrib]
    expected = [(str(i), cell.name) for i, cell in enumerate(board.cells)]
    assert [(shape["data-cell"], shape["data-name"]) for shape in shapes] == expected
    assert [len(root.findall(f".//*[@class='{word}']")) for word in ("last", "mark")] == [1, 1]
    texts = {e.text for e in root.iter(SVG + "text")}
    assert texts >= {label.text for label in board.labels}
    assert not list(root.iter(SVG + "script"))


@every_board
def test_svg_stays_inside_its_box(board: Board) -> None:
    root = ET.fromstring(board.svg(empty(board), STONES))
    left, top, width, height = map(float, root.attrib["viewBox"].split())
    for text in root.iter(SVG + "text"):
        assert left < float(text.attrib["x"]) < left + width and top < float(text.attrib["y"]) < top + height
    for path in root.iter(SVG + "path"):
        numbers = [float(n) for n in re.findall(r"-?[0-9.]+", path.attrib["d"])]
        assert all(left < x < left + width for x in numbers[::2])
        assert all(top < y < top + height for y in numbers[1::2])


def test_svg_shows_pieces_in_their_colours_and_labels_escaped() -> None:
    board = square(2)
    root = ET.fromstring(board.svg([0, 1, 2, 3], (*STONES, Piece("<&", None, "#edc22e", True))))
    fills = [e.attrib.get("fill") for e in root.iter()]
    assert all(fills.count(colour) == 1 for colour in ("#1d1f21", "#f5f3ee", "#edc22e"))
    die = Piece("3", label=True, shape="die")  # not a bare numeral
    assert 'fill="#ffffff" stroke="#ffffff"' in board.svg([1, 0, 0, 0], (Piece("."), die))
    assert "<&" in {e.text for e in root.iter(SVG + "text")} and "X" not in {e.text for e in root.iter(SVG + "text")}


def test_the_sides_of_a_rhombus_have_the_colours_of_their_owners() -> None:
    root = ET.fromstring(rhombus(3).svg([0] * 9, STONES))
    strokes = [e.attrib.get("stroke") for e in root.iter(SVG + "path")]
    assert strokes.count("#1d1f21") == strokes.count("#f5f3ee") == 2


# Errors


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: square(0), "rows is 0; give a whole number from 1 to 99"),
        (lambda: square(8, -1), "columns is -1; give a whole number from 1 to 99"),
        (lambda: square("8"), "rows is '8'; give a whole number"),  # type: ignore[arg-type]
        (lambda: square(8, rows_from="left"), "rows_from is 'left'; give one of 'bottom', 'top'"),  # type: ignore[arg-type]
        (lambda: square(8, theme="grean"), "unknown theme 'grean'; did you mean 'green'?"),
        (lambda: rhombus(100), "rhombus board: size is 100; give a whole number from 1 to 99"),
        (lambda: hexagon(True), "hexagon board: side is True; give a whole number"),
        (lambda: heaps((3, 0)), "heap 2 is 0; give a whole number from 1"),
        (lambda: heaps(()), "heaps board: no cells; give at least one"),
        (lambda: cube(1), "size is 1; give a whole number from 2 to 20"),
        (lambda: complete(1), "n is 1; give a whole number from 2 to 26"),
        (lambda: graph([(0, 0), (1, 0)], [(0, 2)]), "link (0, 2) is not a new pair of two points; points are a, b"),
        (lambda: graph([(0, 0), (1, 0)], [("a", "b"), ("b", "a")]), "link ('b', 'a') is not a new pair"),
        (lambda: rhombus(3).cube(0), "a rhombus board has no cube coordinates; only a hexagon has them"),
        (lambda: hexagon(2).cube(7), "cell 7 is not on the board; cells are numbered 0 to 6"),
        (
            lambda: hexagon(2).at_cube(2, -1, -1),
            "(2, -1, -1) is not on the board; cube coordinates are -1 to 1 and add up",
        ),
        (lambda: hexagon(2).at_cube(1, 1, 1), "(1, 1, 1) is not on the board"),
        (lambda: Piece("X", fill="red"), "fill='red': give a colour such as"),
        (lambda: Piece(""), "give one or more printable characters"),
        (lambda: square(2).text([0] * 3, STONES), "3 values for a board of 4 cells"),
        (lambda: square(2).svg([0, 0, 3, 0], STONES), "cell a1 has value 3; pieces are numbered 0 to 2"),
        (lambda: square(2).text([0] * 4, STONES, last=[4]), "cell 4 is not on the board; cells are numbered 0 to 3"),
    ],
)
def test_errors_name_the_value_and_the_remedy(make: object, message: str) -> None:
    assert callable(make)
    with pytest.raises(BadParameter, match=re.escape(message)):
        make()


def test_an_unknown_cell_is_reported_with_a_suggestion() -> None:
    with pytest.raises(UnknownName, match=r"no cell 'D3' on this board; did you mean 'd3'\?"):
        square(8).index("D3")
