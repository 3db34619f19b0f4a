"""Nim and 2048 against OpenSpiel, against theory, and against their own laws."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import pytest

from meijin.core import kernels
from meijin.core.catalogue import make
from meijin.core.compile import Function
from meijin.core.errors import BadParameter, IllegalMove
from meijin.core.game import CHANCE, OVER, Game
from meijin.core.rng import below, choose, stream
from meijin.core.state import State

GAMES = 1000

# ---- random games, written down ----


def recorder(game: Game) -> Function:
    """One random game with everything a position tells; returns the plies played.

    Moves are chosen from the lists, so that `legal` and `odds` are tested and not only `sample`.
    """
    begin, turn, legal, play, score = game.start, game.turn, game.legal, game.play, game.score
    odds, seats, longest = game.odds or kernels.no_odds, game.seats, game.longest

    def kernel(states: Any, rng: Any, turns: Any, counts: Any, moves: Any, probs: Any, scores: Any, played: Any) -> int:
        s = states[0]
        begin(s)
        for ply in range(longest + 1):
            t = turn(s)
            turns[ply] = t
            score(s, scores[ply, :seats])
            if t == OVER:
                counts[ply] = 0
                return ply
            n = odds(s, moves[ply], probs[ply]) if t == CHANCE else legal(s, moves[ply])
            counts[ply] = n
            played[ply] = moves[ply, choose(rng, probs[ply], n) if t == CHANCE else below(rng, n)]
            play(s, played[ply])
        return -1

    return kernel


class Recorder:
    """Random games of one game, one after another, as lists."""

    def __init__(self, game: Game, seed: int, jit: bool = True, room: int | None = None):
        self.kernel, self.rng = game.kernel(recorder, jit), stream(seed)
        n, width = 1 + (room or game.longest), game.branching or 0
        self.states = game.states(1)
        self.turns, self.counts, self.played = (np.zeros(n, np.int64) for _ in range(3))
        self.moves, self.probs = np.zeros((n, width), np.int32), np.zeros((n, width))
        self.scores = np.zeros((n, game.seats))

    def next(self) -> list[tuple[int, list[int], list[float], list[float], int]]:
        """[position] -> turn, moves, probabilities, scores, the move played; the last position is the final one."""
        plies = self.kernel(
            self.states, self.rng, self.turns, self.counts, self.moves, self.probs, self.scores, self.played
        )
        assert plies >= 0, "the game outlasted `longest`"
        n = plies + 1
        rows = zip(
            self.turns[:n].tolist(),
            self.counts[:n].tolist(),
            self.moves[:n].tolist(),
            self.probs[:n].tolist(),
            self.scores[:n].tolist(),
            self.played[:n].tolist(),
            strict=True,
        )
        return [(t, m[:c], p[:c] if t == CHANCE else [], s, move) for t, c, m, p, s, move in rows]


def random_line(game: Game, seed: int) -> list[int]:
    """The moves and outcomes of one random game."""
    return [row[4] for row in Recorder(game, seed, jit=False, room=min(game.longest, 100_000)).next()[:-1]]


# ---- Nim ----


def pyspiel_nim(heaps: tuple[int, ...], misere: bool) -> Any:
    pyspiel = pytest.importorskip("pyspiel")
    return pyspiel.load_game("nim", {"pile_sizes": ";".join(map(str, heaps)), "is_misere": misere})


@pytest.mark.parametrize("misere", [False, True])
@pytest.mark.parametrize("heaps", [(1, 3, 5, 7), (3, 4, 5), (2, 2), (1, 1, 1), (9,), (12, 1, 4, 4, 9)])
def test_nim_agrees_with_open_spiel(heaps: tuple[int, ...], misere: bool) -> None:
    oracle = pyspiel_nim(heaps, misere)
    game = make("nim", heaps=heaps, misere=misere)
    # OpenSpiel numbers a move (stones taken - 1) * heaps + heap, which depends on the position.
    stones = [(h, i) for h, size in enumerate(heaps) for i in range(size)]
    games = Recorder(game, seed=1, jit=heaps == (1, 3, 5, 7))
    for _ in range(GAMES):
        state, left = oracle.new_initial_state(), list(heaps)
        for turn, moves, _, scores, move in games.next():
            assert scores == state.returns()
            if turn == OVER:
                assert state.is_terminal()
                break
            assert turn == state.current_player()
            theirs = {(left[h] - i - 1) * len(heaps) + h: m for m, (h, i) in enumerate(stones) if i < left[h]}
            assert sorted(theirs) == state.legal_actions()
            assert moves == sorted(theirs.values())
            h, i = stones[move]
            state.apply_action((left[h] - i - 1) * len(heaps) + h)
            left[h] = i


def nim_values(game: Game) -> dict[tuple[int, ...], tuple[float, ...]]:
    """Every position's scores under best play, by heaps; two seats, so the heaps decide the mover's score."""
    play, look = game.kernel(kernels.play, jit=False), game.kernel(kernels.look, jit=False)
    values: dict[tuple[int, ...], tuple[float, ...]] = {}

    def solve(states: Any) -> tuple[float, ...]:
        moves, probs = kernels.buffers(game)
        scores = np.zeros(game.seats)
        turn, n = look(states, 0, moves, probs, scores)
        if turn == OVER:  # seen from the seat that would move next
            seat = int(states[0].seat)
            return tuple(np.roll(scores, -seat).tolist())
        key = tuple(states[0].heaps.tolist())
        if key not in values:
            found = []
            for move in moves[:n].tolist():
                after = states.copy()
                play(after, 0, move)
                found.append(solve(after))
            best = max(found, key=lambda value: value[-1])  # the mover is last in the order of the next seat
            values[key] = (best[-1], *best[:-1])
        return values[key]

    states = game.states(1)
    game.kernel(kernels.start, jit=False)(states, 0)
    solve(states)
    return values


@pytest.mark.parametrize("heaps", [(1, 3, 5, 7), (3, 4, 5), (2, 3, 2, 3), (8,)])
def test_nim_obeys_boutons_theorem(heaps: tuple[int, ...]) -> None:
    for misere in (False, True):
        values = nim_values(make("nim", heaps=heaps, misere=misere))
        assert len(values) == math.prod(size + 1 for size in heaps) - 1
        for position, value in values.items():
            wins = np.bitwise_xor.reduce(position) != 0
            if misere and max(position) == 1:
                wins = not wins
            assert value == ((1, -1) if wins else (-1, 1)), position


@pytest.mark.parametrize("misere", [False, True])
@pytest.mark.parametrize("players", [3, 6, 16])
def test_nim_scores_of_many_players(players: int, misere: bool) -> None:
    game = make("nim", players=players, misere=misere)
    decider, other = (-1.0, 1 / (players - 1)) if misere else (1.0, -1 / (players - 1))
    assert game.score_range == (min(decider, other), max(decider, other))
    games = Recorder(game, seed=players, jit=False)
    for _ in range(200):
        positions = games.next()
        assert [row[0] for row in positions[:-1]] == [ply % players for ply in range(len(positions) - 1)]
        assert all(row[3] == [0.0] * players for row in positions[:-1])
        final = positions[-1][3]
        last = (len(positions) - 2) % players
        assert final == [decider if seat == last else other for seat in range(players)]
        assert math.isclose(sum(final), 0.0, abs_tol=players * 2**-52)


def test_nim_notation_and_symmetries() -> None:
    game = make("nim", heaps=(2, 3, 2))
    assert [str(move) for move in game.moves] == ["a1", "a2", "b1", "b2", "b3", "c1", "c2"]
    state = State(game).play("b2")
    assert state.cells == (1, 1, 1, 0, 0, 1, 1)
    with pytest.raises(IllegalMove):
        state.play("b3")
    assert [symmetry.name for symmetry in game.symmetries] == ["identity", "swap_a_c"]
    for seed in range(20):
        check_symmetries(make("nim", heaps=(3, 2, 3, 2, 3), players=3), seed)


@pytest.mark.parametrize(
    "params", [{"heaps": ()}, {"heaps": 7}, {"heaps": (3, 0)}, {"heaps": (100,)}, {"players": 1}, {"misere": 2}]
)
def test_nim_rejects_bad_parameters(params: dict[str, Any]) -> None:
    with pytest.raises(BadParameter, match=next(iter(params))[:4]):
        make("nim", **params)


# ---- 2048 ----


def put(game: Game, rows: list[list[int]], ply: int = 2) -> State:
    """The position with these numbers on the tiles (0: empty); by default a seat's turn."""
    record = game.states(1)[0]
    for r, row in enumerate(rows):
        record.rows[r] = sum((tile.bit_length() - 1 if tile else 0) << 8 * c for c, tile in enumerate(row))
    record.ply = ply
    return State(game, record)


def tiles(state: State) -> list[list[int]]:
    board = np.array(state.cells).reshape(state.game.board.grid or ())
    return np.where(board > 0, 2 ** board.astype(np.int64), 0).tolist()  # type: ignore[no-any-return]


def open_spiel_slides(state: Any) -> list[int]:
    """The slides that change something, as OpenSpiel carries them out: then chance is next.

    OpenSpiel 2.0.2 lists fewer: it leaves out a slide that only merges into a tile the slide before has made
    (`DoesActionChangeBoard` reads marks that are not cleared until the next slide).
    """
    slides = []
    for move in range(4):
        after = state.clone()
        after.apply_action(move)
        if after.is_chance_node():
            slides.append(move)
    assert set(state.legal_actions()) <= set(slides)
    return slides


def test_2048_agrees_with_open_spiel() -> None:
    pyspiel = pytest.importorskip("pyspiel")
    oracle = pyspiel.load_game("2048", {"max_tile": 2**17})  # its games end there; random ones do not get so far
    game = make("2048")
    games = Recorder(game, seed=2, room=20_000)
    for _ in range(GAMES // 4):  # of about 220 plies each
        state = oracle.new_initial_state()
        for turn, moves, probs, scores, move in games.next():
            assert scores == state.returns()
            if turn == OVER:
                assert state.is_terminal()
                break
            assert turn == state.current_player()  # chance is -1 there, too
            if turn == CHANCE:
                outcomes, theirs = zip(*state.chance_outcomes(), strict=True)
                assert moves == list(outcomes)
                assert max(abs(p - q) for p, q in zip(probs, theirs, strict=True)) < 1e-15
            else:
                assert moves == open_spiel_slides(state)
            state.apply_action(move)
        shown = State(game, games.states[0])
        assert tiles(shown) == [[int(word) for word in line.split()] for line in str(state).split("\n") if line]


SLIDES = [  # a row, the same row after a slide to the left, what the slide scores
    ([2, 2, 2, 2], [4, 4, 0, 0], 8),
    ([2, 2, 2, 0], [4, 2, 0, 0], 4),
    ([4, 2, 2, 0], [4, 4, 0, 0], 4),
    ([2, 2, 4, 0], [4, 4, 0, 0], 4),
    ([2, 2, 4, 8], [4, 4, 8, 0], 4),
    ([2, 0, 0, 2], [4, 0, 0, 0], 4),
    ([2, 0, 4, 2], [2, 4, 2, 0], 0),
    ([0, 0, 0, 2], [2, 0, 0, 0], 0),
    ([0, 4, 0, 4], [8, 0, 0, 0], 8),
    ([4, 4, 8, 8], [8, 16, 0, 0], 24),
    ([2, 4, 4, 2], [2, 8, 2, 0], 8),
    ([8, 4, 2, 2], [8, 4, 4, 0], 4),
    ([0, 2, 2, 2], [4, 2, 0, 0], 4),
    ([1024, 1024, 0, 2048], [2048, 2048, 0, 0], 2048),
    ([65536, 0, 65536, 2], [131072, 2, 0, 0], 131072),
    ([2, 4, 8, 16], None, 0),
    ([2, 4, 0, 0], None, 0),
    ([0, 0, 0, 0], None, 0),
]
SLIDES_OF_FIVE = [
    ([2, 2, 2, 2, 2], [4, 4, 2, 0, 0], 8),
    ([2, 0, 2, 4, 4], [4, 8, 0, 0, 0], 12),
    ([0, 2, 0, 0, 2], [4, 0, 0, 0, 0], 4),
    ([4, 2, 2, 4, 4], [4, 4, 8, 0, 0], 12),
    ([2**25, 2**25, 2**24, 0, 2**24], [2**26, 2**25, 0, 0, 0], 2**26 + 2**25),
    ([8, 4, 2, 4, 8], None, 0),
]


@pytest.mark.parametrize(("size", "table"), [(4, SLIDES), (5, SLIDES_OF_FIVE)])
def test_2048_slides_every_way(size: int, table: list[tuple[list[int], list[int] | None, int]]) -> None:
    game = make("2048", size=size)
    for row, after, gain in table:
        for place in range(size):
            for turns, name in enumerate(("left", "down", "right", "up")):  # each a quarter turn from the last
                board = np.zeros((size, size), np.int64)
                board[place] = row
                state = put(game, np.rot90(board, turns).tolist())
                if after is None:
                    with pytest.raises(IllegalMove):
                        state.play(name)
                    continue
                before = state.scores[0]
                state.play(name)
                board[place] = after
                assert tiles(state) == np.rot90(board, turns).tolist(), (row, name)
                assert state.scores[0] - before == gain
                assert state.is_chance


def test_2048_starts_with_two_tiles_and_ends_when_stuck() -> None:
    state = State(make("2048"))
    assert state.is_chance
    assert len(state.odds) == 32
    state.play("a1=2")
    assert state.is_chance
    assert state.scores == (0.0,)
    assert math.isclose(sum(state.odds.values()), 1.0)
    assert "a1" not in {outcome.name[:2] for outcome in state.odds}
    state.play("d4=4")
    assert state.turn == 0
    assert tiles(state) == [[0, 0, 0, 4], [0] * 4, [0] * 4, [2, 0, 0, 0]]
    assert [move.name for move in state.legal_moves] == ["up", "right", "down", "left"]
    stuck = [[2, 4, 2, 4], [4, 2, 4, 2], [2, 4, 2, 4], [4, 2, 4, 2]]
    assert put(state.game, stuck).turn == OVER
    stuck[0][0] = stuck[1][0] = 8
    assert [move.name for move in put(state.game, stuck).legal_moves] == ["up", "down"]
    assert State.parse(state.text) == state


@pytest.mark.parametrize("expression", ["2048(size=2)", "2048(size=3)", "2048(width=5, height=3)", "2048(size=5)"])
def test_2048_of_other_sizes(expression: str) -> None:
    """Whole games against a plain reading of the rules."""
    game = make(expression)
    height, width = game.board.grid or (0, 0)
    for seed in range(3):
        board, score = np.zeros((height, width), np.int64), 0
        rows = Recorder(game, seed, jit=False, room=min(game.longest, 100_000)).next()
        for turn, moves, probs, scores, move in rows:
            assert scores == [score]
            if turn == CHANCE:
                empty = [cell for cell in range(height * width) if board.flat[cell] == 0]
                assert moves == [2 * cell + four for cell in empty for four in (0, 1)]
                assert probs == pytest.approx([0.9 / len(empty), 0.1 / len(empty)] * len(empty))
                assert math.isclose(sum(probs), 1.0)
                board.flat[move // 2] = 4 if move % 2 else 2
                continue
            slid = [slide(board, way) for way in range(4)]
            assert moves == [way for way in range(4) if (slid[way][0] != board).any()]
            if turn == OVER:
                assert not moves
                break
            board, gain = slid[move]
            score += gain


def slide(board: Any, way: int) -> tuple[Any, int]:
    """The board after a slide (0 up, 1 right, 2 down, 3 left), and what it scores."""
    turned, gain = np.rot90(board, (1, 2, 3, 0)[way]).copy(), 0
    for line in turned:
        tiles, out = [int(tile) for tile in line if tile], []
        while tiles:
            tile = tiles.pop(0)
            if tiles and tiles[0] == tile:
                tile += tiles.pop(0)
                gain += tile
            out.append(tile)
        line[:] = out + [0] * (len(line) - len(out))
    return np.rot90(turned, -(1, 2, 3, 0)[way]), gain


def test_2048_scores_beyond_32_bits() -> None:
    game = make("2048", size=6)
    rows = [[0] * 6 for _ in range(6)]
    rows[0][:4] = [2**36, 2**36, 2**31, 2**31]
    state = put(game, rows)
    before = state.scores[0]
    assert before == 2 * 35 * 2**36 + 2 * 30 * 2**31
    state.play("left")
    assert tiles(state)[0] == [2**37, 2**32, 0, 0, 0, 0]
    assert state.scores[0] - before == 2**37 + 2**32
    assert "128G" in str(state)
    assert "4G" in state._repr_html_()
    # The largest board there can be: no sum in between leaves 64 bits, the result is exact in a float64.
    full = put(game, [[2 ** (2 + 6 * r + c) for c in range(6)] for r in range(6)])
    assert full.turn == OVER
    exact = sum((e - 1) * 2**e for e in range(2, 38))
    assert exact > 2**42
    assert full.scores[0] == exact == int(full.scores[0])
    assert full.cells[-1] == len(game.pieces) - 1


def test_2048_lasts_no_longer_than_it_says() -> None:
    for expression in ("2048(size=2)", "2048", "2048(size=6)"):
        game = make(expression)
        assert game.longest <= 10_000_000
        assert game.longest % 2 == 0  # so the last ply is an outcome
    assert make("2048").longest == 2**18 - 6
    rows = [[0] * 6 for _ in range(6)]
    rows[0][1] = 2
    assert put(game, rows, ply=game.longest - 2).turn == 0
    assert put(game, rows, ply=game.longest - 1).turn == CHANCE
    assert put(game, rows, ply=game.longest).turn == OVER


def test_2048_bounds_hold_in_every_position_of_the_smallest_board() -> None:
    game = make("2048", size=2)
    play, look = game.kernel(kernels.play), game.kernel(kernels.look)
    moves, probs = kernels.buffers(game)
    scores = np.zeros(1)
    layer, largest, plies = {game.states(1).tobytes()}, 0, 0
    while True:
        after = set()
        for record in layer:
            states = np.frombuffer(record, game.dtype).copy()
            largest = max(largest, *states[0].rows.tobytes())
            _, n = look(states, 0, moves, probs, scores)
            for move in moves[:n].tolist():
                following = states.copy()
                play(following, 0, move)
                following[0].fours = 0  # the tiles alone decide how it goes on
                after.add(following.tobytes())
        if not after:
            break
        layer, plies = after, plies + 1
    assert largest == len(game.pieces) - 1 == 5
    assert 40 < plies <= game.longest == 58


def test_2048_symmetries() -> None:
    assert len(make("2048").symmetries) == 8
    assert len(make("2048", width=5, height=3).symmetries) == 4
    for seed in range(3):
        check_symmetries(make("2048"), seed, plies=60)
    check_symmetries(make("2048", width=5, height=3), 1, plies=60)


def check_symmetries(game: Game, seed: int, plies: int = 1000) -> None:
    """Playing the images of the moves gives the image of the position, of its moves and of its odds."""
    line = random_line(game, seed)[:plies]
    start, play = game.kernel(kernels.start, jit=False), game.kernel(kernels.play, jit=False)
    look, cells = game.kernel(kernels.look, jit=False), game.kernel(kernels.cells, jit=False)

    def seen(states: Any) -> tuple[int, dict[int, float], list[float], list[int]]:
        moves, probs = kernels.buffers(game)
        scores, out = np.zeros(game.seats), np.zeros(len(game.board.cells), np.int32)
        turn, n = look(states, 0, moves, probs, scores)
        cells(states, 0, out)
        return int(turn), dict(zip(moves[:n].tolist(), probs[:n].tolist(), strict=True)), scores.tolist(), out.tolist()

    for symmetry in game.symmetries:
        here, there = game.states(1), game.states(1)
        start(here, 0)
        start(there, 0)
        for move in [*line, None]:
            turn, moves, scores, values = seen(here)
            image = symmetry.outcomes if turn == CHANCE else symmetry.moves
            turned = dict(zip(symmetry.cells, values, strict=True))
            expected = turn, {image[m]: p for m, p in moves.items()}, scores, [turned[c] for c in range(len(values))]
            assert seen(there) == expected, symmetry.name
            if move is not None:
                play(here, 0, move)
                play(there, 0, image[move])


def test_2048_names() -> None:
    game = make("2048", width=3, height=2)
    assert [move.name for move in game.moves] == ["up", "right", "down", "left"]
    assert game.paths == (("up",), ("right",), ("down",), ("left",)), "a corner cell would mean two slides"
    assert [outcome.name for outcome in game.outcomes[:4]] == ["a2=2", "a2=4", "b2=2", "b2=4"]
    assert game.outcome_paths[11] == (5, "4")
    assert all(re.fullmatch(r"\.|\d{1,6}[MGT]?", piece.text) for piece in make("2048", size=6).pieces)


@pytest.mark.parametrize("params", [{"size": 1}, {"size": 7}, {"width": 1}, {"height": 7}, {"size": 4.5}])
def test_2048_rejects_bad_parameters(params: dict[str, Any]) -> None:
    with pytest.raises(BadParameter, match=next(iter(params))):
        make("2048", **params)


# ---- both ----


def sampler(game: Game) -> Function:
    """Count what `sample` draws in one position."""
    sample = game.sample
    assert sample is not None

    def kernel(states: Any, rng: Any, draws: int, counts: Any) -> None:
        for _ in range(draws):
            counts[sample(states[0], rng)] += 1

    return kernel


def test_samples_follow_the_odds() -> None:
    """Exact up to 6 standard deviations: over the 60 or so counts a false alarm has a chance of 1e-7."""
    four = make("2048")
    board = [[0, 2, 0, 0], [4, 0, 2, 8], [2, 4, 2, 4], [2, 8, 16, 0]]
    nim = State(make("nim")).play("c3")
    crowded = put(four, [[2, 4, 8, 16], [16, 8, 4, 2], [2, 4, 8, 16], [16, 8, 4, 4]])
    draws = 100_000
    for state in (State(four), put(four, board, ply=3), put(four, board), crowded, nim):
        game = state.game
        counts = np.zeros(max(game.num_moves, game.num_outcomes), np.int64)
        game.kernel(sampler)(state.records, stream(5), draws, counts)
        expected = np.zeros(len(counts))
        for move in state.legal_moves:
            expected[move] = state.odds[move] if state.is_chance else 1 / len(state.legal_moves)
        spread = np.sqrt(draws * expected * (1 - expected))
        assert (np.abs(counts - draws * expected) <= 6 * spread + 1e-9).all()


@pytest.mark.parametrize("expression", ["nim", "nim(players=3, misere=True)", "2048", "2048(width=3, height=2)"])
def test_interpreted_equals_compiled(expression: str) -> None:
    game = make(expression)
    room = min(game.longest, 20_000)
    compiled, plain = Recorder(game, 9, jit=True, room=room), Recorder(game, 9, jit=False, room=room)
    for _ in range(3):
        assert compiled.next() == plain.next()
        assert compiled.states.tobytes() == plain.states.tobytes()
    counts = np.zeros((2, 2 * len(game.board.cells) + 4), np.int64)
    state = State(game)
    for row, jit in enumerate((True, False)):
        game.kernel(sampler, jit)(state.records, stream(3), 500, counts[row])
    assert (counts[0] == counts[1]).all()
