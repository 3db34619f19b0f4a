"""`State`: one position of a game with its history."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import cached_property
from typing import Any

import numpy as np

from meijin.core import kernels
from meijin.core.catalogue import game_of
from meijin.core.errors import BadParameter, IllegalMove, MeijinError
from meijin.core.game import CHANCE, OVER, Game
from meijin.core.moves import Move
from meijin.core.positions import checked_turn, checked_values, read_position, write_position
from meijin.core.rng import Stream, choose

UNKNOWN = "?"  # written for a position that is known only by its record


class State:
    """A position that can be played on, taken back, drawn, copied and compared.

    Two states are equal when they are positions of the same game with equal records, however they were reached.
    """

    def __init__(self, game: Game | str, record: Any = None):
        """The start of a game, which may be given by its expression, or the position of a record. Compiled rules trust
        a record: pass only records that rules have written, and read what people, files or pages send with `set_up`,
        `from_position` or `parse`."""
        self.game = game = game_of(game)
        self._states = game.states(1)
        self._placed: str | None = None  # how the history's first position is written; None: it is the start
        if record is None:
            game.tiered(kernels.start)(self._states, 0)
        else:
            self._states[0] = record
            self._placed = UNKNOWN
        self._past: list[tuple[Any, Move]] = []  # (record before the move, the move)
        self._future: list[Move] = []
        self.origin: bytes = self._states.tobytes()  # the position the history starts from

    @classmethod
    def set_up(cls, game: Game | str, cells: Sequence[int], turn: int) -> State:
        """The position with these values on the cells and that seat to move; an error says why there is none."""
        game = game_of(game)
        if game.setup is None:
            raise BadParameter(f"{game} cannot set up positions: it has no rule `setup`; give the moves from the start")
        values, turn = np.array(checked_values(game, cells), np.int32), checked_turn(game, turn)
        states = game.states(1)
        code = int(game.tiered(kernels.setup)(states, 0, values, turn))
        if code:
            reason = game.refusals[code - 1] if 0 < code <= len(game.refusals) else "the rules refuse it"
            raise BadParameter(f"{game}: this position cannot be set up: {reason}")
        state = cls(game, states[0])
        state._placed = write_position(game, tuple(values.tolist()), turn)
        return state

    @classmethod
    def from_position(cls, game: Game | str, text: str) -> State:
        """The position that a text describes, in the form that `position` writes."""
        game = game_of(game)
        return cls.set_up(game, *read_position(game, text))

    @property
    def position(self) -> str:
        """The position as text, without the moves that led to it; an error says why it cannot be written."""
        if self.is_over:
            raise BadParameter(f"{self.game}: a finished game cannot be set up; its moves can be written")
        text = write_position(self.game, self.cells, self.turn)
        again = State.from_position(self.game, text)
        if (again._look, again.cells) != (self._look, self.cells):
            raise BadParameter(f"{self.game}: this position depends on the moves before it; write those")
        return text

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
        turn, n = self.game.tiered(kernels.look)(self._states, 0, moves, probs, scores)
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

    def moves_since(self, ply: int) -> list[Move]:
        """The moves and outcomes played from the ply of that number on, counted from 0; `history` takes longer."""
        return [move for _, move in self._past[ply:]]

    @property
    def cells(self) -> tuple[int, ...]:
        """The value of every cell of the board: an index into `game.pieces`."""
        out = np.zeros(len(self.game.board.cells), np.int32)
        self.game.tiered(kernels.cells)(self._states, 0, out)
        return tuple(out.tolist())

    @property
    def planes(self) -> Any:
        """The net's input from the mover's view, float32 [plane, cell]."""
        out = np.zeros((self.game.num_planes or 0, len(self.game.board.cells)), np.float32)
        self.game.tiered(kernels.planes)(self._states, 0, out)
        return out

    @property
    def tallies(self) -> dict[str, tuple[float, ...]]:
        """What the game counts during play, each a number per seat: {"discs": (34, 30)}; often empty."""
        if self.game.tally is None:
            return {}
        out = np.zeros((len(self.game.tallies), self.game.seats))
        self.game.tiered(kernels.tally)(self._states, 0, out)
        return {name: tuple(row) for name, row in zip(self.game.tallies, out.tolist(), strict=True)}

    @property
    def ending(self) -> str:
        """How the game ended, such as "checkmate"; "" before the end, or if the game does not say."""
        if self.game.ending is None or not self.is_over:
            return ""
        return self.game.endings[self.game.tiered(kernels.ending)(self._states, 0)]

    @property
    def last_cells(self) -> tuple[int, ...]:
        """The cells of the latest move of a seat and of what chance did after it, for drawing; none before a seat has
        moved."""
        found: list[int] = []
        after = self
        for record, move in reversed(self._past):
            before = State(self.game, record)
            found = before._cells_of(move, after) + found
            if not before.is_chance:
                return tuple(found)
            after = before
        return ()

    def _cells_of(self, move: Move, after: State) -> list[int]:
        """The cells of a move or outcome that leads from here to the state after it."""
        path = (self.game.outcome_paths if self.is_chance else self.game.paths)[move] or ()
        exact = [step for step in path if isinstance(step, int)]
        if exact:
            return exact
        # a set of cells was clicked: show those that changed
        clicked = {c for step in path if isinstance(step, frozenset) for c in step}
        return [c for c, (a, b) in enumerate(zip(self.cells, after.cells, strict=True)) if a != b and c in clicked]

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
        other.game, other.origin, other._placed = self.game, self.origin, self._placed
        other._states = self.game.states(1)
        other._states[:] = self._states  # unlike numpy's `copy`, leaves the bytes between fields zero
        other._past, other._future = list(self._past), list(self._future)
        if "_look" in self.__dict__:
            other.__dict__["_look"] = self._look
        return other

    def _advance(self, move: Move) -> None:
        before = self._states[0].copy()
        self.game.tiered(kernels.play)(self._states, 0, int(move))
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
        """One line that `State.parse` reads back: the game, the position set up in [] if any, and the moves."""
        words = [str(self.game)]
        if self._placed == UNKNOWN:
            with suppress(BadParameter):
                self._placed = State(self.game, np.frombuffer(self.origin, self.game.dtype)[0]).position
        if self._placed is not None:
            words.append(f"[{self._placed}]")
        return " ".join(words + [move.name for move in self.history])

    @classmethod
    def parse(cls, text: str) -> State:
        """The state a line of `text` describes, history included. The rules check all of it."""
        from meijin.core.catalogue import make

        words = re.match(r"\s*([^\s(]+(?:\(.*\))?)(?:\s+\[([^\]]*)\])?\s*(.*)$", text, re.DOTALL)
        if words is None:
            raise MeijinError(f"{text!r} does not begin with a game, as in 'othello(size=6) d3 c5'")
        if words[3].startswith("("):
            raise MeijinError(f"{text!r}: the parenthesis after '{words[1]}' is not closed")
        game, placed, line = make(words[1]), words[2], words[3]
        begun = cls(game) if placed is None else cls.from_position(game, placed)
        return begun.play_line(line)

    def __str__(self) -> str:
        return self.game.board.text(self.cells, self.game.pieces, last=self.last_cells)

    def __repr__(self) -> str:
        return f"<State {self.text}>"

    def _repr_html_(self) -> str:
        return self.game.board.svg(self.cells, self.game.pieces, last=self.last_cells)
