"""Interpreted trial games: every rule is called at every position, and what it says is judged and kept.

The rules run as plain Python with exactly-sized buffers and read-only tables, so a write outside a buffer, an overflow
or a division by zero stops at its line instead of corrupting memory as it would in compiled code.
"""

from __future__ import annotations

import ast
import linecache
import sys
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from meijin.core.diagnose import located, place, rules
from meijin.core.errors import RuleError
from meijin.core.game import CHANCE, OVER, Game
from meijin.core.kernels import picker
from meijin.core.lint import tables
from meijin.core.rng import Stream, stream

#: What integer buffers hold before a rule fills them; floats hold nan.
UNWRITTEN = -(2**31)
UNWRITTEN_BYTE = -(2**7)  # the same in a byte, for `owners`


@dataclass(slots=True)
class Position:
    """One position of a trial game and everything the interpreted rules said of it."""

    line: tuple[str, ...]  # the moves that lead to it
    record: NDArray[Any]  # [1]
    turn: int
    listed: NDArray[np.int32]  # the legal moves or the outcomes
    probs: NDArray[np.float64]  # at a chance turn, one for each outcome
    scores: NDArray[np.float64]
    cells: NDArray[np.int32]
    guess: NDArray[np.float64]  # what `heuristic` said
    planes: NDArray[np.float32] | None = None  # [plane, cell]
    noisy: tuple[int, ...] = ()  # at a seat's turn, what `noisy` said of each listed move
    key: int | None = None  # what `key` said
    owners: NDArray[np.int8] | None = None  # at the end, what `owners` said
    move: int = -1  # what was played here; -1 at the end


def broken(game: Game, rule: str, problem: str, remedy: str, line: tuple[str, ...] | None = None) -> RuleError:
    """The error of a law that a rule breaks, with the moves that lead to the position where it does."""
    fn = getattr(game, rule, None)
    where = f"\n  at {place(fn)}" if isinstance(fn, types.FunctionType) else ""
    after = "" if line is None else f"\n  position: {' '.join([str(game), *line])}"
    return RuleError(f"{game}: rule '{rule}' {problem}{where}{after}\n  remedy: {remedy}")


class Trial:
    """One game played at random by the interpreted rules from a stream, position by position."""

    def __init__(self, game: Game, rng: Stream, judge: Callable[[Position], None], plain_ints: bool = True):
        self.game, self.rng, self.judge = game, rng, judge
        self.number = int if plain_ints else np.int32  # moves reach `play` as both
        self.states = game.states(1)
        self.line: list[str] = []
        self._pick = picker(game)

    def positions(self, limit: int) -> Iterator[Position]:
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
                if self._count("turn", self.states[0]) != OVER:
                    problem = "says OVER once and not the second time"
                    raise self.broken("turn", problem, "let it depend on the record alone")
                return
            names = self.game.outcomes if position.turn == CHANCE else self.game.moves
            self._call("play", self.states[0], self.number(position.move), reads=False)
            self.line.append(names[position.move].name)

    def broken(self, rule: str, problem: str, remedy: str) -> RuleError:
        return broken(self.game, rule, problem, remedy, tuple(self.line))

    def _start(self) -> None:
        """Law: `start` makes the same position of any record, blank or used."""
        self._call("start", self.states[0], reads=False)
        used = self.game.states(1)
        used.view(np.uint8)[:] = 0x55
        self._call("start", used[0], reads=False)
        if differing := differences(self.states[0], used[0]):
            problem = f"leaves a field as it was: {', '.join(text.split()[0] for text in differing)}"
            raise self.broken("start", problem, "set every field: records are used again for the next game")

    def _look(self) -> Position:
        game, s = self.game, self.states[0]
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
        return Position(
            tuple(self.line), record, turn, moves[:n], probs[:n], scores, cells, np.full(game.seats, np.nan)
        )

    def _guess(self, position: Position) -> None:
        """`planes`, `heuristic`, `policy`, `noisy`, `key` and `owners`, which may rely on what the other rules say."""
        game = self.game
        position.planes = np.full((game.num_planes or 0, len(game.board.cells)), np.nan, np.float32)
        self._call("planes", self.states[0], position.planes)
        if game.heuristic is not None:
            self._call("heuristic", self.states[0], position.guess)
        if game.policy is not None and position.turn >= 0:
            # With a stream of its own: the games must go on as they would without a policy.
            move = self._count("policy", self.states[0], stream(len(self.line)))
            if move not in position.listed:
                raise self.broken("policy", f"draws {move}, which `legal` does not list", "draw legal moves only")
        if game.noisy is not None and position.turn >= 0:
            position.noisy = tuple(
                self._count("noisy", self.states[0], self.number(move)) for move in position.listed.tolist()
            )
        if game.key is not None:
            position.key = self._count("key", self.states[0])
        if game.owners is not None and position.turn == OVER:
            position.owners = np.full(len(game.board.cells), UNWRITTEN_BYTE, np.int8)
            self._call("owners", self.states[0], position.owners)

    def _choose(self, position: Position) -> int:
        """A random move, drawn as `kernels.random_walks` draws it."""
        game = self.game
        if game.sample is not None:
            move = self._count("sample", self.states[0], self.rng)
            if move not in position.listed:
                listing = "odds" if position.turn == CHANCE else "legal"
                raise self.broken("sample", f"draws {move}, which `{listing}` does not list", "draw listed moves only")
            return move
        moves, probs = np.zeros(game.branching or 0, np.int32), np.zeros(game.branching or 0)
        with np.errstate(over="ignore"):
            return int(self._pick(self.states[0], position.turn, self.rng, moves, probs))

    def _count(self, rule: str, *arguments: Any) -> int:
        result = self._call(rule, *arguments)
        if isinstance(result, int | np.integer | np.bool_):
            return int(result)
        said = "nothing" if result is None else f"{result!r}"
        raise self.broken(rule, f"returns {said}", "return a whole number on every path")

    def _call(self, rule: str, *arguments: Any, reads: bool = True) -> Any:
        """Call a rule so that whatever goes wrong stops at its line; `reads`: it must leave the record alone."""
        fn = getattr(self.game, rule)
        before = self.states.tobytes()
        try:
            with np.errstate(over="call", call=_overflow, divide="raise", invalid="raise", under="ignore"):
                result = fn(*arguments)
        except Exception as error:
            after = " ".join([str(self.game), *self.line])
            raise RuleError(f"{located(self.game, rule, error, fn)}\n  position: {after}") from None
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
    return bool(np.allclose(a, b, rtol=1e-6, atol=1e-9, equal_nan=True))


@contextmanager
def frozen_tables(game: Game) -> Iterator[None]:
    """Within the block, writing to a constant table of the rules is an error at the line that does it."""
    arrays = {id(a): a for _, fn in rules(game) for a in tables(fn) if a.flags.writeable}
    for array in arrays.values():
        array.flags.writeable = False
    try:
        yield
    finally:
        for array in arrays.values():
            array.flags.writeable = True


# ---- overflow ----

_words: set[tuple[types.CodeType, int]] = set()  # instructions known to compute with np.uint64


def _overflow(kind: str, flag: int) -> None:
    """Called by numpy when an integer leaves its type. Words (np.uint64) may: bit tricks and hashes rely on it."""
    frame = sys._getframe(1)
    key = frame.f_code, frame.f_lasti
    if key not in _words:
        if not _computes_with_words(frame):
            raise FloatingPointError("overflow")
        _words.add(key)


def _computes_with_words(frame: types.FrameType) -> bool:
    line, last, column, end = list(frame.f_code.co_positions())[frame.f_lasti // 2]
    if line is None or last is None or column is None or end is None:
        return False
    lines = [linecache.getline(frame.f_code.co_filename, n).encode() for n in range(line, last + 1)]
    lines[-1] = lines[-1][:end]
    lines[0] = lines[0][column:]
    text = b"".join(lines).decode()
    try:
        tree = ast.parse(text)
    except SyntaxError:
        try:
            tree = ast.parse(f"({text})")
        except SyntaxError:
            return False
    for node in ast.walk(tree):
        # Only what can be evaluated without calling anything: a call could change the position.
        if isinstance(node, ast.Name | ast.Attribute | ast.Subscript) and not any(
            isinstance(inner, ast.Call) for inner in ast.walk(node)
        ):
            try:
                source = compile(ast.Expression(_loaded(node)), "<overflow>", "eval")
                value = eval(source, frame.f_globals, frame.f_locals)
            except Exception:
                continue
            if value is np.uint64 or isinstance(value, np.uint64):
                return True
    return False


def _loaded(node: ast.expr) -> ast.expr:
    """The expression as one that is read, where it was the target of an assignment."""
    copy = ast.parse(ast.unparse(node), mode="eval")
    return copy.body
