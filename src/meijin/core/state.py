"""`State`: one position of a game with its history, the pleasant face of a record."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cached_property
from typing import Any

import numpy as np

from meijin.core import kernels
from meijin.core.errors import IllegalMove, MeijinError
from meijin.core.game import CHANCE, OVER, Game
from meijin.core.moves import Move
from meijin.core.rng import Stream, choose


class State:
    """A position that can be played on, taken back, drawn, copied and compared.

    Two states are equal when they are positions of the same game with equal records, however they were reached.
    """

    def __init__(self, game: Game, record: Any = None):
        self.game = game
        self._states = game.states(1)
        if record is None:
            game.kernel(kernels.start)(self._states, 0)
        else:
            self._states[0] = record
        self._past: list[tuple[Any, Move]] = []  # (record before the move, the move)
        self._future: list[Move] = []
        self.origin: bytes = self._states.tobytes()  # the position the history starts from

    # ---- looking ----

    @property
    def record(self) -> Any:
        """The record itself; what is written to it changes this state."""
        return self._states[0]

    @property
    def records(self) -> Any:
        """The record in an array of one, as kernels take it."""
        return self._states

    @cached_property
    def _look(self) -> tuple[int, tuple[Move, ...], tuple[float, ...], tuple[float, ...]]:
        moves, probs = kernels.buffers(self.game)
        scores = np.zeros(self.game.seats)
        turn, n = self.game.kernel(kernels.look)(self._states, 0, moves, probs, scores)
        names = self.game.outcomes if turn == CHANCE else self.game.moves
        listed = tuple(names[m] for m in moves[:n].tolist())
        return int(turn), listed, tuple(probs[:n].tolist()) if turn == CHANCE else (), tuple(scores.tolist())

    @property
    def turn(self) -> int:
        """The seat to move, or CHANCE, or OVER."""
        return self._look[0]

    @property
    def is_over(self) -> bool:
        return self.turn == OVER

    @property
    def is_chance(self) -> bool:
        return self.turn == CHANCE

    @property
    def legal_moves(self) -> tuple[Move, ...]:
        """The moves of the seat to move, ascending; at a chance turn, the possible outcomes."""
        return self._look[1]

    @property
    def odds(self) -> dict[Move, float]:
        """At a chance turn, each outcome's probability."""
        return dict(zip(self._look[1], self._look[2], strict=True)) if self.is_chance else {}

    @property
    def scores(self) -> tuple[float, ...]:
        """Every seat's score so far; final when the game is over."""
        return self._look[3]

    @property
    def history(self) -> tuple[Move, ...]:
        """The moves and outcomes played, oldest first."""
        return tuple(move for _, move in self._past)

    @property
    def cells(self) -> tuple[int, ...]:
        """The value of every cell of the board: an index into `game.pieces`."""
        out = np.zeros(len(self.game.board.cells), np.int32)
        self.game.kernel(kernels.cells)(self._states, 0, out)
        return tuple(out.tolist())

    @property
    def planes(self) -> Any:
        """The net's input from the mover's view, float32 [plane, cell]."""
        out = np.zeros((self.game.num_planes or 0, len(self.game.board.cells)), np.float32)
        self.game.kernel(kernels.planes)(self._states, 0, out)
        return out

    @property
    def last_cells(self) -> tuple[int, ...]:
        """The cells of the latest move, for drawing."""
        if not self._past:
            return ()
        move = self.history[-1]
        before = State(self.game, self._past[-1][0])
        path = (self.game.outcome_paths if before.is_chance else self.game.paths)[move]
        exact = [step for step in path if isinstance(step, int)]
        if not exact:  # a set of cells was clicked: show those that changed
            clicked = {c for step in path if isinstance(step, frozenset) for c in step}
            exact = [
                c for c, (a, b) in enumerate(zip(before.cells, self.cells, strict=True)) if a != b and c in clicked
            ]
        return tuple(exact)

    # ---- playing ----

    def play(self, move: int | str) -> State:
        """Play a move, or a chance outcome at a chance turn, by number or by name; returns this state."""
        self._advance(self._resolve(move))
        self._future.clear()
        return self

    def play_line(self, line: str | Iterable[int | str]) -> State:
        """Play several moves: a list, or text such as "d3 c5" or "d3c5". All are played, or none."""
        played = 0
        try:
            if isinstance(line, str):
                for word in re.split(r"[\s,]+", line.strip()) if line.strip() else ():
                    rest = word
                    while rest:
                        move = self._prefix(rest)
                        rest = rest[len(move.name) :]
                        self._advance(move)
                        played += 1
            else:
                for item in line:
                    self._advance(self._resolve(item))
                    played += 1
        except BaseException as error:
            done = " ".join(str(move) for move in self.history)
            for _ in range(played):
                self._retreat()
            if not isinstance(error, MeijinError):
                raise
            raise type(error)(f"{error} (after: {done or 'the start'})") from None
        self._future.clear()
        return self

    def roll(self, rng: Stream) -> State:
        """Let chance move until a seat is to move or the game is over."""
        while self.is_chance:
            probs = np.array(self._look[2])
            with np.errstate(over="ignore"):
                self.play(self._look[1][choose(rng, probs, len(probs))])
        return self

    def undo(self) -> Move:
        """Take back the latest move or outcome, which `redo` plays again."""
        if not self._past:
            raise IllegalMove("nothing to undo: this is where the history starts")
        move = self._retreat()
        self._future.append(move)
        return move

    def redo(self) -> Move:
        if not self._future:
            raise IllegalMove("nothing to redo: no move was taken back")
        move = self._future.pop()
        self._advance(move)
        return move

    def copy(self) -> State:
        """An independent state with the same history."""
        other = object.__new__(State)
        other.game, other.origin = self.game, self.origin
        other._states = self.game.states(1)
        other._states[:] = self._states  # unlike numpy's `copy`, leaves the bytes between fields zero
        other._past, other._future = list(self._past), list(self._future)
        if "_look" in self.__dict__:
            other.__dict__["_look"] = self._look
        return other

    def _advance(self, move: Move) -> None:
        before = self._states[0].copy()
        self.game.kernel(kernels.play)(self._states, 0, int(move))
        self._past.append((before, move))
        self.__dict__.pop("_look", None)

    def _retreat(self) -> Move:
        record, move = self._past.pop()
        self._states[0] = record
        self.__dict__.pop("_look", None)
        return move

    def _resolve(self, move: int | str) -> Move:
        if isinstance(move, str):
            try:
                found = self.game.find(move, self.is_chance)
            except IllegalMove as error:
                raise IllegalMove(f"{error}; {self._legal_text()}") from None
        else:
            names = self.game.outcomes if self.is_chance else self.game.moves
            found = names[move] if 0 <= move < len(names) else Move(move, str(int(move)))
        if found not in self.legal_moves:
            raise IllegalMove(f"'{found}' is not legal here; {self._legal_text()}")
        return found

    def _prefix(self, text: str) -> Move:
        """The legal move whose name begins the text; the longest where several do, the whole text if it is a name."""
        lower = text.lower()
        if lower in self.game._by_name[self.is_chance]:
            return self._resolve(text)  # "12" is that move or an error, never "1" and "2"
        matches = [m for m in self.legal_moves if lower.startswith(m.name.lower())]
        if not matches:
            raise IllegalMove(f"'{text}' is not legal here; {self._legal_text()}")
        return max(matches, key=lambda m: len(m.name))

    def _legal_text(self) -> str:
        if self.is_over:
            return "the game is over"
        names = [m.name for m in self.legal_moves]
        shown = ", ".join(names[:40]) + (f", and {len(names) - 40} more" if len(names) > 40 else "")
        return f"legal{' outcomes' if self.is_chance else ''}: {shown}"

    # ---- comparing, writing, reading, drawing ----

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, State):
            return NotImplemented
        return self.game is other.game and self._states.tobytes() == other._states.tobytes()

    def __hash__(self) -> int:
        return hash((id(self.game), self._states.tobytes()))

    @property
    def text(self) -> str:
        """One line that `State.parse` reads back: the game, the set-up position if any, and the moves."""
        words = [str(self.game)]
        if self.origin != State(self.game).origin:
            words.append(f"#{self.origin.hex()}")
        return " ".join(words + [move.name for move in self.history])

    @classmethod
    def parse(cls, text: str) -> State:
        """The state a line of `text` describes, history included."""
        from meijin.core.catalogue import make

        words = re.match(r"\s*([^\s(]+(?:\(.*\))?)(?:\s+#([0-9a-fA-F]+))?\s*(.*)$", text, re.DOTALL)
        if words is None:
            raise MeijinError(f"{text!r} does not begin with a game, as in 'othello(size=6) d3 c5'")
        if words[3].startswith("("):
            raise MeijinError(f"{text!r}: the parenthesis after '{words[1]}' is not closed")
        game, hexed, line = make(words[1]), words[2], words[3]
        if hexed is None:
            return cls(game).play_line(line)
        if len(hexed) != 2 * game.dtype.itemsize:
            raise MeijinError(
                f"the position after '#' has {len(hexed)} hex digits; a record of {game} has {2 * game.dtype.itemsize}"
            )
        return _set_up(game, bytes.fromhex(hexed)).play_line(line)

    def __str__(self) -> str:
        return self.game.board.text(self.cells, self.game.pieces, last=self.last_cells)

    def __repr__(self) -> str:
        return f"<State {self.text}>"

    def _repr_html_(self) -> str:
        return self.game.board.svg(self.cells, self.game.pieces, last=self.last_cells)


def _set_up(game: Game, record: bytes) -> State:
    """A state from a record's bytes. Compiled rules trust their record, so the plain ones look at it first."""
    state = State(game, np.frombuffer(record, game.dtype)[0])
    moves, probs = kernels.buffers(game)
    values = np.zeros(len(game.board.cells), np.int32)
    try:
        game.kernel(kernels.look, jit=False)(state.records, 0, moves, probs, np.zeros(game.seats))
        game.kernel(kernels.cells, jit=False)(state.records, 0, values)
        sound = bool((values >= 0).all() and (values < len(game.pieces)).all())
    except Exception:  # whatever a rule does with a record that no rule wrote
        sound = False
    if not sound:
        raise MeijinError(f"the bytes after '#' are no position of {game}")
    return state
