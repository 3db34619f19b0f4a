"""The laws of what a game adds for people: setting up positions, symmetries of set-up positions, tallies and endings.

Each law is a function whose docstring says it. It raises a RuleError or returns how often it was tried. The rules are
tried interpreted before they run compiled, as `laws` and `comparisons` do.
"""

from __future__ import annotations

import types
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from meijin.core import compile as compiling
from meijin.core import kernels, rng
from meijin.core.check.comparisons import _INSIDE, _WIDTHS, _check_guards, _guarded
from meijin.core.check.diagnose import broken
from meijin.core.check.laws import _FIRST_LAWS, _LAST_LAWS, _WORK, Evidence, Tried
from meijin.core.check.supervise import Watch
from meijin.core.check.trial import (
    UNWRITTEN,
    UNWRITTEN_BYTE,
    TrialGame,
    TrialPosition,
    close,
    differences,
    guarded_rules,
)
from meijin.core.compile import Function
from meijin.core.errors import BadParameter, MeijinError, RuleError
from meijin.core.game import CHANCE, OVER, Game, Symmetry
from meijin.core.positions import read_position, write_position
from meijin.core.rng import Stream
from meijin.core.state import State

_LEFT_OUT = "left out: the game has no `setup`"
_ROUND_TRIPS = 100  # positions
_IMAGES = 16  # positions tried with each symmetry
_SYMMETRIES = 48  # tried at most
_PLIES = 12  # interpreted, after a strange set-up

#: Codes of set-ups that break a law: no end within `longest`, a wrong number of moves, no such ending.
ENDLESS, MISCOUNTED, UNNAMED = -1, -2, -3


# ---- positions of trial games ----


def set_up_again(evidence: Evidence) -> Tried:
    """`setup` makes a position again from its cells and turn, or refuses it for a declared reason."""
    game = evidence.game
    if game.setup is None:
        return Tried(0, "positions", _LEFT_OUT)
    refused: Counter[str] = Counter()
    positions = _going(evidence, _ROUND_TRIPS)
    guarded = guarded_rules(game)
    for here in positions:
        made = SetUp(game, guarded, evidence.watch, here.cells, here.turn)
        if code := made.code:
            refused[game.refusals[code - 1]] += 1
            continue
        again = next(made.positions(1))
        missing = set(here.listed.tolist()) - set(again.listed.tolist())
        for ok, problem in (
            (again.turn == here.turn, f"makes it the turn of {again.turn}, not of {here.turn}"),
            (np.array_equal(again.cells, here.cells), "makes other cells than it was given"),
            (not missing, f"makes a position without the legal moves {sorted(missing)[:5]}"),
        ):
            if not ok:
                remedy = "write every field as `play` would have; refuse what cells and turn do not tell"
                raise broken(game, "setup", problem, remedy, here.line)
        _check_text(game, here)
    if not positions or refused.total() == len(positions):
        raise RuleError(f"{game}: rule 'setup' refuses every position of {len(evidence.trace)} games: {dict(refused)}")
    return Tried(len(positions), "positions", _reasons(refused))


def _going(evidence: Evidence, count: int) -> list[TrialPosition]:
    """At most that many positions of games that go on, from all stages of the trial games."""
    positions = [position for position in evidence.positions if position.turn != OVER]
    # Drawn, since every second position may be a turn of chance.
    drawn = np.random.default_rng(evidence.seed).permutation(len(positions))[:count]
    return [positions[i] for i in sorted(drawn.tolist())]


def _check_text(game: Game, here: TrialPosition) -> None:
    cells, remedy = tuple(here.cells.tolist()), "let `read` undo `write`"
    text = write_position(game, cells, here.turn)
    if "]" in text or not text.isprintable():
        raise broken(game, "write", f"writes {text!r}", "use printable characters other than ']'", here.line)
    try:
        found, turn = read_position(game, text)
    except BadParameter as error:
        raise broken(game, "read", f"does not read {text!r}: {error}", remedy, here.line) from None
    if (tuple(found), turn) != (cells, here.turn):
        raise broken(game, "read", f"reads {text!r} as another position", remedy, here.line)


def _reasons(refused: Counter[str]) -> str:
    return "; ".join(f"{count} refused: {reason}" for reason, count in refused.most_common())


class SetUp(TrialGame):
    """A trial game that begins with what `setup` makes of cells and a turn; see `code` before playing it."""

    def __init__(
        self,
        game: Game,
        guarded: dict[str, types.FunctionType],
        watch: Watch,
        values: Sequence[int] | NDArray[Any],
        turn: int,
        stream: Stream | None = None,
    ):
        super().__init__(game, guarded, rng.stream(0) if stream is None else stream, self._judge, watch)
        self.values = np.array(values, np.int32)
        self.values.flags.writeable = False
        self.line = [f"[{write_position(game, tuple(self.values.tolist()), turn)}]"]
        self.code = self._make(turn)

    def _make(self, turn: int) -> int:
        """Law: `setup` returns 0 or names a refusal, and makes the same position of any record, blank or used."""
        used = self.game.states(1)
        used.view(np.uint8)[:] = 0x55
        codes = [
            self._call("setup", self.record(states), self.values, turn, reads=False)
            for states in (self.states, used, self.states)
        ]
        for code in codes:
            if not isinstance(code, int | np.integer) or not 0 <= code <= len(self.game.refusals):
                remedy = f"return 0, or 1 to {len(self.game.refusals)} for one of `refusals`"
                raise self.broken("setup", f"returns {code!r}", remedy)
        left = differences(self.states[0], used[0]) if codes[0] == 0 else []
        if left or len(set(codes)) > 1:
            problem = f"leaves a field as it was: {', '.join(text.split()[0] for text in left) or codes}"
            raise self.broken("setup", problem, "set every field: records are used again")
        return int(codes[0])

    def _start(self) -> None:
        pass

    def _judge(self, position: TrialPosition) -> None:
        for law in _FIRST_LAWS if position.planes is None else _LAST_LAWS:
            law(self.game, position)


# ---- positions that nobody played ----


def strange_set_ups(evidence: Evidence) -> Tried:
    """Whatever cells and turn it is given, `setup` refuses them or makes a position that can be played to the end."""
    game = evidence.game
    if game.setup is None:
        return Tried(0, "set-ups", _LEFT_OUT)
    seeds, draw = np.array([position.cells for position in evidence.positions]), np.random.default_rng(evidence.seed)
    cost = _PLIES * (len(game.board.cells) * (1 + (game.num_planes or 0)) + (game.branching or 0))
    count = max(5, min(10 * evidence.games, _WORK * evidence.games // cost))
    values, turns = strange(game, seeds, count, draw)
    codes, records = [], []
    guarded = guarded_rules(game)
    for number in range(count):
        stream = rng.stream(evidence.seed, number)
        made = SetUp(game, guarded, evidence.watch, values[number], int(turns[number]), stream)
        codes.append(made.code)
        records.append(made.states.copy())
        if made.code == 0:
            for _ in made.positions(_PLIES):
                pass
    if not (compiling.JIT and game.compiled):
        return Tried(count, "set-ups", f"{codes.count(0)} accepted")
    for number in range(count):
        states = _guarded(game)
        evidence.watch.compiled("setup", line=_line(game, values[number], turns[number]))
        code = int(game.kernel(set_up)(states, values[number], turns[number]))
        changed = differences(records[number][0], states[1]) if code == 0 else []
        if code != codes[number] or changed:
            problem = f"differs, interpreted -> compiled: {codes[number]} -> {code} {', '.join(changed)}"
            raise broken(game, "setup", problem, _WIDTHS, _line(game, values[number], turns[number]))
        _check_guards(game, "setup", states, _line(game, values[number], turns[number]))
    evidence.watch.compiled("setup", "play", "turn", "odds" if game.chance else "legal")
    more = 100 * evidence.games
    accepted = play_strange_set_ups(game, seeds, more, evidence.seed)
    return Tried(count + more, "set-ups", f"{codes.count(0) + accepted} accepted")


def strange(game: Game, seeds: NDArray[Any], count: int, draw: np.random.Generator) -> tuple[Any, Any]:
    """Cells [set-up, cell] within the alphabets, most of them changed in places from `seeds`, and turns."""
    cells = len(game.board.cells)
    values = seeds[draw.integers(len(seeds), size=count)].astype(np.int32)
    alphabets = [np.array(cell) for cell in game.alphabets or [range(len(game.pieces))] * cells]
    other = np.stack([alphabet[draw.integers(len(alphabet), size=count)] for alphabet in alphabets], axis=1)
    least = np.array([alphabet[0] for alphabet in alphabets])  # most often empty
    other = np.where(draw.random((count, 1)) < draw.random((count, cells)), other, least)
    shares = draw.choice([0.0, 1 / cells, 2 / cells, 4 / cells, 0.5, 1.0], size=(count, 1))
    values = np.where(draw.random((count, cells)) < shares, other, values).astype(np.int32)
    return values, draw.integers(CHANCE if game.chance else 0, game.seats, size=count)


def set_up(game: Game) -> Function:
    """One set-up in the middle record; returns what `setup` says."""
    rule = game.rules["setup"]

    def kernel(states: Any, values: Any, turn: int) -> int:
        return rule(states[1], values, turn)  # type: ignore[no-any-return]

    return kernel


def set_ups(game: Game) -> Function:
    """Set positions up in the middle record and play them to the end at random. `codes` get 0 for each that ended, the
    number of its refusal, or ENDLESS, MISCOUNTED or UNNAMED."""
    setup, turn, legal, play = game.rules["setup"], game.turn, game.legal, game.play
    odds, score, cells_rule, planes_rule = game.odds or kernels.no_odds, game.score, game.cells, game.planes
    heuristic, tally, owners = game.heuristic or _no_output, game.tally or _no_output, game.owners or _no_output
    ending, policy, noisy, pick = (
        game.ending or _zero,
        game.policy or _zero_of,
        game.noisy or _zero_of,
        kernels.picker(game),
    )
    longest, branching, endings = game.longest, game.branching or 0, max(1, len(game.endings))
    assert planes_rule is not None

    def look(s: Any, scores: Any, cells: Any, planes: Any, counts: Any) -> None:
        heuristic(s, scores)
        score(s, scores)
        cells_rule(s, cells)
        planes_rule(s, planes)
        tally(s, counts)

    def kernel(
        states: Any, values: Any, turns: Any, rng: Any, moves: Any, probs: Any, codes: Any,
        scores: Any, cells: Any, planes: Any, counts: Any, held: Any,
    ) -> None:  # fmt: skip
        s = states[1]
        for i in range(values.shape[0]):
            code = setup(s, values[i], turns[i])
            plies = 0
            while code == 0:
                t = turn(s)
                if t == OVER:
                    if not 0 <= ending(s) < endings:
                        code = UNNAMED
                    break
                n = odds(s, moves[1], probs[1]) if t == CHANCE else legal(s, moves[1])
                if plies == 0:
                    look(s, scores[1], cells[1], planes[1], counts[1])
                if plies == longest:
                    code = ENDLESS
                elif not 1 <= n <= branching:
                    code = MISCOUNTED
                else:
                    move = pick(s, t, rng, moves[1], probs[1])
                    if t >= 0:
                        noisy(s, move)
                        policy(s, rng)
                    play(s, move)
                    plies += 1
            if code == 0:
                look(s, scores[1], cells[1], planes[1], counts[1])
                owners(s, held[1])
            codes[i] = code

    return kernel


def _no_output(s: Any, out: Any) -> None:
    return None


def _zero(s: Any) -> int:
    return 0


def _zero_of(s: Any, argument: Any) -> int:
    return 0


def play_strange_set_ups(game: Game, seeds: NDArray[Any], count: int, seed: int) -> int:
    """That many set-ups, compiled; returns how many were accepted, all of which ended."""
    values, turns = strange(game, seeds, count, np.random.default_rng([seed, 1]))
    states, codes = _guarded(game), np.zeros(count, np.int64)
    b, c = game.branching or 0, len(game.board.cells)
    moves, probs = np.full((3, b), UNWRITTEN, np.int32), np.full((3, b), np.nan)
    scores, cells = np.full((3, game.seats), np.nan), np.full((3, c), UNWRITTEN, np.int32)
    planes = np.full((3, game.num_planes or 0, c), np.nan, np.float32)
    counts, held = np.full((3, len(game.tallies), game.seats), np.nan), np.full((3, c), UNWRITTEN_BYTE, np.int8)
    outputs = {"score": scores, "cells": cells, "planes": planes, "tally": counts, "owners": held}
    game.kernel(set_ups)(states, values, turns, rng.stream(seed), moves, probs, codes, *outputs.values())
    for rule, rows in {"legal": moves, "odds": probs, **outputs}.items():
        outside = rows[[0, 2]]
        if not (np.isnan(outside) if rows.dtype.kind == "f" else outside == outside.flat[0]).all():
            raise broken(game, rule, "writes outside its buffer after a set-up", _INSIDE)
    _check_guards(game, "setup", states, ())
    for code, rule, problem in (
        (ENDLESS, "setup", f"makes a position that goes on for longest={game.longest} plies"),
        (MISCOUNTED, "setup", f"makes a position without moves, or with more than branching={game.branching}"),
        (UNNAMED, "ending", f"names none of the {len(game.endings)} `endings`"),
    ):
        if (codes == code).any():
            at = int(np.argmax(codes == code))
            remedy = "refuse what cannot come up; every rule may rely on what `setup` lets through"
            raise broken(game, rule, problem, remedy, _line(game, values[at], turns[at]))
    return int((codes == 0).sum())


def _line(game: Game, values: Any, turn: Any) -> tuple[str, ...]:
    return (f"[{write_position(game, tuple(values.tolist()), int(turn))}]",)


# ---- symmetries ----


def images(evidence: Evidence) -> Tried:
    """Set up as its image under a symmetry, a position has the images of its moves, and playing one gives an image."""
    game = evidence.game
    if game.setup is None:
        return Tried(0, "images", _LEFT_OUT)
    chosen = _going(evidence, _IMAGES)
    tried, refused = 0, 0
    for symmetry in game.symmetries[1 :: -(-len(game.symmetries) // _SYMMETRIES)]:
        where, values = np.array(symmetry.cells), np.array(symmetry.values)
        for number, here in enumerate(chosen):
            cells = np.zeros(len(where), np.int32)
            cells[where] = values[here.cells]
            try:
                one = State.set_up(game, here.cells.tolist(), here.turn)
                other = State.set_up(game, cells.tolist(), here.turn if here.turn < 0 else symmetry.seats[here.turn])
            except MeijinError:  # not every position can be set up
                refused += 1
                continue
            tried += _compare(symmetry, one, other)
            if not one.is_over:
                move = one.legal_moves[number % len(one.legal_moves)]
                image = (symmetry.outcomes if one.is_chance else symmetry.moves)[move]
                tried += _compare(symmetry, one.play(move), other.play(image))
    return Tried(tried, "images", f"{refused} refused" if refused else "")


def _compare(symmetry: Symmetry, one: State, other: State) -> int:
    game, seats = one.game, symmetry.seats
    moves = symmetry.outcomes if one.is_chance else symmetry.moves
    cells = np.zeros(len(symmetry.cells), np.int32)
    cells[np.array(symmetry.cells)] = np.array(symmetry.values)[np.array(one.cells)]
    for rule, ok in (
        ("turn", other.turn == (one.turn if one.turn < 0 else seats[one.turn])),
        ("cells", cells.tolist() == list(other.cells)),
        ("legal", sorted(moves[m] for m in one.legal_moves) == [int(m) for m in other.legal_moves]),
        ("odds", close([one.odds[m] for m in one.odds], [other.odds[game.outcomes[moves[m]]] for m in one.odds])
         if one.is_chance and other.is_chance else True),
        ("score", close(one.scores, [other.scores[seats[k]] for k in range(game.seats)])),
    ):  # fmt: skip
        if not ok:
            problem = f"breaks the symmetry '{symmetry.name}': {other!r} is not the image of {one!r}"
            remedy = f"leave '{symmetry.name}' out of `keeps`, `swaps` and `more_symmetries`, or fix its permutations"
            raise broken(game, rule, problem, remedy)
    return 1


# ---- alphabets, tallies, endings ----


def alphabets(evidence: Evidence) -> Tried:
    """Every cell has one of the values that `alphabets` lists for it."""
    game = evidence.game
    if game.alphabets is None:
        return Tried(0, "positions", "left out: the game declares no `alphabets`")
    for here in evidence.positions:
        for cell, value in enumerate(here.cells.tolist()):
            if value not in game.alphabets[cell]:
                problem = f"writes {value} to cell '{game.board.cells[cell].name}'; `alphabets` has no such value there"
                raise broken(game, "cells", problem, "list every value that the cell can have", here.line)
    return Tried(len(evidence.positions), "positions")


def tallies(evidence: Evidence) -> Tried:
    """`tally` writes every number, finite, the same when compiled."""
    game = evidence.game
    if game.tally is None:
        return Tried(0, "positions", "left out: the game has no `tally`")
    shape, guarded = (len(game.tallies), game.seats), guarded_rules(game)
    for here in evidence.positions:
        counts = np.full(shape, np.nan)
        _reading(evidence, guarded, "tally", here, counts)
        if not np.isfinite(counts).all():
            row, seat = np.argwhere(~np.isfinite(counts))[0].tolist()
            problem = f"leaves '{game.tallies[row]}' of seat {seat} unwritten, or not finite"
            raise broken(game, "tally", problem, "write every entry, every time", here.line)
        if compiling.JIT and game.compiled:
            states, rows = _guarded(game, here.record), np.full((3, *shape), np.nan)
            game.kernel(kernels.tally)(states, 1, rows[1])
            if not close(rows[1], counts):
                problem = f"differs: interpreted {counts.tolist()}, compiled {rows[1].tolist()}"
                raise broken(game, "tally", problem, _WIDTHS, here.line)
            if not np.isnan(rows[[0, 2]]).all():
                raise broken(game, "tally", "writes outside its buffer when compiled", _INSIDE, here.line)
            _check_guards(game, "tally", states, here.line)
    return Tried(len(evidence.positions), "positions")


def endings(evidence: Evidence) -> Tried:
    """When the game is over, `ending` is the place of a text in `endings`, the same when compiled."""
    game = evidence.game
    if game.ending is None:
        return Tried(0, "games", "left out: the game has no `ending`")
    seen: Counter[str] = Counter()
    guarded = guarded_rules(game)
    for here in evidence.positions:
        if here.turn != OVER:
            continue
        said = _reading(evidence, guarded, "ending", here)
        if not isinstance(said, int | np.integer) or not 0 <= said < len(game.endings):
            remedy = f"return 0 to {len(game.endings) - 1}, a place in `endings`"
            raise broken(game, "ending", f"returns {said!r}", remedy, here.line)
        place = int(said)
        if compiling.JIT and game.compiled and (compiled := int(game.kernel(kernels.ending)(here.record, 0))) != place:
            raise broken(game, "ending", f"differs: interpreted {place}, compiled {compiled}", _WIDTHS, here.line)
        seen[game.endings[place]] += 1
    return Tried(seen.total(), "games", ", ".join(f"{count} {text}" for text, count in seen.most_common()))


def _reading(
    evidence: Evidence, guarded: dict[str, types.FunctionType], rule: str, here: TrialPosition, *arguments: Any
) -> Any:
    """Call an interpreted rule that must leave the record alone."""
    trial = TrialGame(evidence.game, guarded, rng.stream(0), lambda _: None, evidence.watch)
    trial.states[:] = here.record
    trial.line = list(here.line)
    return trial._call(rule, trial.s, *arguments)


#: In the order in which they are tried, after the laws of `check.LAWS`.
LAWS = (alphabets, tallies, endings, set_up_again, strange_set_ups, images)
