"""Interpreted trial games: every rule is called at every position, and its answers are judged and kept.

The rules run as plain Python with buffers of the exact size, guarded arrays and read-only tables, so a negative index,
a write outside a buffer, an overflow or a division by zero stops at its line instead of corrupting memory as it would
in compiled code.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from meijin.core.check.diagnose import broken, located, rules
from meijin.core.check.guard import guard, guarded_rule, record_type
from meijin.core.check.overflow import overflow
from meijin.core.check.supervise import Watch
from meijin.core.errors import RuleError
from meijin.core.game import CHANCE, OVER, Game
from meijin.core.rng import Stream, below, choose, stream

#: What integer buffers hold before a rule fills them; floats hold nan.
UNWRITTEN = -(2**31)
UNWRITTEN_BYTE = -(2**7)  # the same in a byte, for `owners`


@dataclass(slots=True)
class TrialPosition:
    """One position of a trial game and all answers of the interpreted rules."""

    line: tuple[str, ...]  # the moves that lead to it
    record: NDArray[Any]  # [1]
    turn: int
    listed: NDArray[np.int32]  # the legal moves or the outcomes
    probs: NDArray[np.float64]  # at a chance turn, one for each outcome
    scores: NDArray[np.float64]
    cells: NDArray[np.int32]
    guess: NDArray[np.float64]  # the answer of `heuristic`
    planes: NDArray[np.float32] | None = None  # [plane, cell]
    noisy: tuple[int, ...] = ()  # at a seat's turn, the answer of `noisy` for each listed move
    key: int | None = None  # the answer of `key`
    owners: NDArray[np.int8] | None = None  # at the end, the answer of `owners`
    move: int = -1  # what was played here; -1 at the end


def guarded_rules(game: Game) -> dict[str, types.FunctionType]:
    """The rules of a game as trial games call them."""
    made: dict[types.FunctionType, types.FunctionType] = {}
    return {name: guarded_rule(fn, made) for name, fn in rules(game)}


class TrialGame:
    """One game played at random by the interpreted rules from a stream, position by position."""

    def __init__(
        self,
        game: Game,
        guarded: dict[str, types.FunctionType],
        rng: Stream,
        judge: Callable[[TrialPosition], None],
        watch: Watch,
        plain_ints: bool = True,
    ):
        self.game, self.rules, self.rng, self.judge, self.watch = game, guarded, rng, judge, watch
        self.number = int if plain_ints else np.int32  # moves reach `play` as both
        self.states = game.states(1)
        self.record = record_type(game.dtype)
        self.s = self.record(self.states)
        self.line: list[str] = []

    def positions(self, limit: int) -> Iterator[TrialPosition]:
        """The positions up to the end of the game, or the first `limit`."""
        self._start()
        for _ in range(limit):
            position = self._look()
            self.judge(position)
            self._guess(position)
            self.judge(position)
            if position.turn != OVER:
                position.move = self._choose(position)
            yield position
            if position.turn == OVER:
                if self._count("turn", self.s) != OVER:
                    problem = "says OVER once and not the second time"
                    raise self.broken("turn", problem, "let it depend on the record alone")
                return
            name = (self.game.outcomes if position.turn == CHANCE else self.game.moves)[position.move].name
            self._call("play", self.s, self.number(position.move), reads=False)
            if position.record.tobytes() == self.states.tobytes():
                problem = f"changes nothing when '{name}' is played, so the game cannot go on"
                raise self.broken(
                    "play", problem, "let `play` record the move and pass the turn on, as in `s.ply += 1`"
                )
            self.line.append(name)

    def broken(self, rule: str, problem: str, remedy: str) -> RuleError:
        return broken(self.game, rule, problem, remedy, tuple(self.line))

    def _start(self) -> None:
        """Law: `start` makes the same position of any record, blank or used."""
        self._call("start", self.s, reads=False)
        used = self.game.states(1)
        used.view(np.uint8)[:] = 0x55
        self._call("start", self.record(used), reads=False)
        if differing := differences(self.states[0], used[0]):
            problem = f"leaves a field as it was: {', '.join(text.split()[0] for text in differing)}"
            raise self.broken("start", problem, "set every field: records are used again for the next game")

    def _look(self) -> TrialPosition:
        game, s = self.game, self.s
        moves = np.full(game.branching or 0, UNWRITTEN, np.int32)
        probs = np.full(game.branching or 0, np.nan)
        scores = np.full(game.seats, np.nan)
        cells = np.full(len(game.board.cells), UNWRITTEN, np.int32)
        turn, n = self._count("turn", s), 0
        if not (turn in (CHANCE, OVER) or 0 <= turn < game.seats):
            expected = f"0 to {game.seats - 1}, CHANCE ({CHANCE}) or OVER ({OVER})"
            raise self.broken("turn", f"returns {turn}", f"return {expected}")
        if turn == CHANCE:
            if game.odds is None:
                raise self.broken(
                    "turn", "says chance moves, but the game has no `odds`", "give `odds` and `num_outcomes`"
                )
            n = self._count("odds", s, moves, probs)
        elif turn != OVER:
            n = self._count("legal", s, moves)
        if not 0 <= n <= len(moves):
            rule = "odds" if turn == CHANCE else "legal"
            raise self.broken(rule, f"returns {n}", f"return how many entries were written, 0 to {len(moves)}")
        self._call("score", s, scores)
        self._call("cells", s, cells)
        record = game.states(1)
        record[:] = self.states  # unlike `copy`, leaves the bytes between fields zero
        return TrialPosition(
            tuple(self.line), record, turn, moves[:n], probs[:n], scores, cells, np.full(game.seats, np.nan)
        )

    def _guess(self, position: TrialPosition) -> None:
        """`planes`, `heuristic`, `policy`, `noisy`, `key` and `owners`, which may rely on what the other rules say."""
        game = self.game
        position.planes = np.full((game.num_planes or 0, len(game.board.cells)), np.nan, np.float32)
        self._call("planes", self.s, position.planes)
        if game.heuristic is not None:
            self._call("heuristic", self.s, position.guess)
        if game.policy is not None and position.turn >= 0:
            # With a stream of its own: the games must go on as they would without a policy.
            move = self._count("policy", self.s, stream(len(self.line)))
            if move not in position.listed:
                raise self.broken("policy", f"draws {move}, which `legal` does not list", "draw legal moves only")
        if game.noisy is not None and position.turn >= 0:
            position.noisy = tuple(self._count("noisy", self.s, self.number(move)) for move in position.listed.tolist())
        if game.key is not None:
            position.key = self._count("key", self.s)
        if game.owners is not None and position.turn == OVER:
            position.owners = np.full(len(game.board.cells), UNWRITTEN_BYTE, np.int8)
            self._call("owners", self.s, position.owners)

    def _choose(self, position: TrialPosition) -> int:
        """A random move, drawn as `kernels.random_walks` draws it."""
        game = self.game
        if game.sample is not None:
            move = self._count("sample", self.s, self.rng)
            if move not in position.listed:
                listing = "odds" if position.turn == CHANCE else "legal"
                raise self.broken("sample", f"draws {move}, which `{listing}` does not list", "draw listed moves only")
            return move
        n = len(position.listed)
        with np.errstate(over="ignore"):
            chosen = choose(self.rng, position.probs, n) if position.turn == CHANCE else below(self.rng, n)
        return int(position.listed[chosen])

    def _count(self, rule: str, *arguments: Any) -> int:
        result = self._call(rule, *arguments)
        if isinstance(result, int | np.integer | np.bool_):
            return int(result)
        said = "nothing" if result is None else f"{result!r}"
        raise self.broken(rule, f"returns {said}", "return a whole number on every path")

    def _call(self, rule: str, *arguments: Any, reads: bool = True) -> Any:
        """Call a rule so that whatever goes wrong stops at its line; `reads`: it must leave the record alone."""
        fn, before = self.rules[rule], self.states.tobytes()
        given = [guard(a) if isinstance(a, np.ndarray) else a for a in arguments]
        self.watch.interpreted(rule, self.line)
        try:
            with np.errstate(over="call", call=overflow, divide="raise", invalid="raise", under="ignore"):
                result = fn(*given)
        except (Exception, SystemExit) as error:
            raise located(self.game, rule, error, self.line, self.watch.timeout) from None
        if reads and before != self.states.tobytes():
            changed = differences(np.frombuffer(before, self.game.dtype)[0], self.states[0])
            problem = f"changes the record: {', '.join(changed)}"
            raise self.broken(rule, problem, "only `start` and `play` write to the record; undo what it tries out")
        return result


def differences(one: Any, other: Any) -> list[str]:
    """The fields in which two records differ, with both values; floats may differ by rounding."""
    found = []
    for name in one.dtype.names:
        a, b = np.asarray(one[name]), np.asarray(other[name])
        if a.tobytes() != b.tobytes() and not (a.dtype.kind == "f" and close(a, b)):
            where = "" if a.ndim == 0 else str(np.argwhere(a != b)[0].tolist()) if (a != b).any() else ""
            at = tuple(np.argwhere(a != b)[0]) if where else ()
            found.append(f"{name}{where} {a[at]} -> {b[at]}" if a[at].ndim == 0 else name)
    return found


def close(a: Any, b: Any) -> bool:
    """Equal but for the rounding of elementary functions, which differs between compilers; nan equals nan."""
    return np.array_equal(a, b) or bool(np.allclose(a, b, rtol=1e-6, atol=1e-9, equal_nan=True))
