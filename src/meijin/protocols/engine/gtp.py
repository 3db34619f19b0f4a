"""GTP 2, the Go Text Protocol, for Go and for other games of two players, in the dialects of Othello and Hex boards.

A command may have a number, which its answer repeats; answers begin with "=" or "?" and end with an empty line.
Black is seat 0. Moves may be out of turn, and go on after the end, as boards do to set up or clean up a position.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from functools import partial
from io import StringIO
from pathlib import Path

import numpy as np

from meijin import __version__
from meijin.core.agent import Analysis, Clock, Limit
from meijin.core.errors import BadParameter, IllegalMove, MeijinError
from meijin.core.game import Game
from meijin.core.moves import Move
from meijin.core.state import State
from meijin.protocols.engine.session import Say, Session, shortened
from meijin.protocols.scores import standing

COLOURS = {"b": 0, "black": 0, "w": 1, "white": 1}
TITLES = {"othello": "Othello", "go": "Go", "hex": "Hex", "gomoku": "Gomoku"}

Answer = str | None  # None: it comes later


class Gtp(Session):
    patient = True

    def __init__(self, game: Game, agent: str, say: Say, limit: Limit = Limit()):  # noqa: B008 - frozen
        super().__init__(game, agent, say, limit)
        if game.seats != 2:
            raise BadParameter(f"{game}: GTP is for games of two players; use ugi")
        self._past: list[State] = []  # what `undo` goes back to
        self._clocks: list[Limit] = [Limit(), Limit()]  # [seat]
        self._analysing = False
        self._commands: dict[str, Callable[[list[str]], Answer]] = {
            "protocol_version": lambda _: "2",
            "name": lambda _: "Meijin",
            "version": lambda _: f"{__version__} ({self.agent.name})",
            "known_command": lambda a: str(bool(a) and a[0] in self._commands).lower(),
            "list_commands": lambda _: "\n".join(self._commands),
            "quit": lambda _: "",
            "boardsize": self._board_size,
            "clear_board": self._clear_board,
            "komi": self._komi,
            "play": self._play,
            "genmove": self._generate,
            "reg_genmove": partial(self._generate, keep=False),
            "kgs-genmove_cleanup": partial(self._generate, clean=True),
            "undo": self._undo,
            "showboard": lambda _: "\n" + str(self.state),
            "final_score": self._final_score,
            "time_settings": self._time_settings,
            "time_left": self._time_left,
            "loadsgf": self._load_sgf,
            "printsgf": self._print_sgf,
            "lz-analyze": partial(self._analyse, kata=False),
            "kata-analyze": partial(self._analyse, kata=True),
            "lz-genmove_analyze": partial(self._analyse, kata=False, moving=True),
            "kata-genmove_analyze": partial(self._analyse, kata=True, moving=True),
            "list_games": lambda _: TITLES.get(game.name, game.name),
            "set_game": self._set_game,
        }
        if game.name == "go":
            self._commands |= {
                "fixed_handicap": self._fixed_handicap,
                "place_free_handicap": self._fixed_handicap,
                "set_free_handicap": self._free_handicap,
                "final_status_list": self._final_status,
            }

    def handle(self, line: str) -> bool:
        words = line.partition("#")[0].split()
        if self._analysing:  # any line ends an analysis
            self.halt(drop=False)
            self._analysing = False
        self.wait()
        if not words:
            return True
        number = words.pop(0) if words[0].isdigit() else ""
        if not words:
            self._reply("?", number, "command missing")
            return True
        self._number = number
        name, arguments = words[0], words[1:]
        if name not in self._commands:
            self._reply("?", number, "unknown command")
            return True
        try:
            answer = self._commands[name](arguments)
        except IllegalMove:
            self._reply("?", number, "illegal move")
        except MeijinError as error:
            self._reply("?", number, " ".join(str(error).split()))
        else:
            if answer is not None:
                self._reply("=", number, answer)
        return name != "quit"

    def _reply(self, mark: str, number: str, text: str) -> None:
        self.say(f"{mark}{number} {text}".rstrip() + "\n")

    # ---- the position ----

    def _restart(self, state: State | None = None) -> None:
        self.state, self._past = State(self.game) if state is None else state, []

    def _board_size(self, arguments: list[str]) -> str:
        size = _whole(arguments, 0)
        if size != self.game.params.get("size", self.game.params.get("width")):
            try:
                self.change_game(size=size)
            except MeijinError:
                raise BadParameter("unacceptable size") from None
        self._restart()
        return ""

    def _clear_board(self, arguments: list[str]) -> str:
        self._restart()
        return ""

    def _komi(self, arguments: list[str]) -> str:
        komi = _number(arguments, 0)
        if "komi" in self.game.params and komi != self.game.params["komi"]:
            before = self.state
            set_up = before.origin != State(self.game).origin
            self.change_game(komi=komi)
            begun = State(self.game, np.frombuffer(before.origin, self.game.dtype)[0]) if set_up else self.state
            self._restart(begun.play_line([move.name for move in before.history]))
        return ""

    def _set_game(self, arguments: list[str]) -> str:
        if " ".join(arguments).lower() not in (self.game.name, self.game.title.lower()):
            raise BadParameter("unknown game")
        return ""

    def _colour(self, arguments: list[str]) -> int:
        if not arguments or arguments[0].lower() not in COLOURS:
            raise BadParameter("syntax error: give a colour, b or w")
        return COLOURS[arguments[0].lower()]

    def _at_turn(self, seat: int) -> State:
        """The position with that seat to move, a copy: by a pass of the other if it is not, or as a set-up."""
        state = self.state.copy()
        if state.turn == seat:
            return state
        if state.turn >= 0 and "pass" in [move.name for move in state.legal_moves]:
            passed = state.copy().play("pass")
            if passed.turn == seat:
                return passed
        if self.game.setup is None:
            raise IllegalMove("it is the other player's turn")
        return State.set_up(self.game, state.cells, seat)

    def _play(self, arguments: list[str]) -> str:
        seat = self._colour(arguments)
        if len(arguments) < 2:
            raise BadParameter("syntax error: give a colour and a move")
        text = {"swap-pieces": "swap"}.get(arguments[1].lower(), arguments[1])
        if text.lower() == "resign":
            return ""
        if text.lower() == "pass" and self.state.turn not in (seat, -2) and self.game.name == "othello":
            return ""  # a board that writes forced passes of its own
        self._keep(self._at_turn(seat).play(text))
        return ""

    def _keep(self, state: State) -> None:
        self._past.append(self.state)
        self.state = state

    def _undo(self, arguments: list[str]) -> str:
        if not self._past:
            raise BadParameter("cannot undo")
        self.state = self._past.pop()
        return ""

    # ---- moves ----

    def _name(self, move: Move) -> str:
        if self.game.name == "hex":
            return "swap-pieces" if move.name == "swap" else move.name
        return "PASS" if move.name == "pass" else move.name.upper()

    def _generate(self, arguments: list[str], keep: bool = True, clean: bool = False) -> Answer:
        seat, number = self._colour(arguments), self._number
        if self.state.is_over and not clean:
            return "PASS" if "pass" in self.game._by_name[0] else "resign"
        before, state = self.state, self._at_turn(seat)
        self.state = state
        dead = self._dead(state) if clean else ()

        def finish(analysis: Analysis) -> None:
            move = analysis.best
            if move.name == "pass" and any(state.cells[cell] == 2 - seat for cell in dead):
                move = next((info.move for info in analysis.moves if info.move.name != "pass"), move)
            self.state = before
            if keep:
                self._keep(state.copy().play(move))
            self._reply("=", number, self._name(move))

        def fail(problem: str) -> None:
            self.state = before
            self._reply("?", number, problem)

        self.begin(self._clocks[seat], finish, fail=fail)
        return None

    def _analyse(self, arguments: list[str], kata: bool, moving: bool = False) -> Answer:
        """Lines of all moves, until the next command; with `moving`, one move's thinking and then the move."""
        words = [word for word in arguments if word.lower() not in COLOURS]
        seat = next((COLOURS[w.lower()] for w in arguments if w.lower() in COLOURS), self.state.turn)
        if words[:1] == ["interval"]:
            words = words[1:]
        every = max(0.01, _number(words, 0) / 100) if words else 1.0
        if self.state.is_over:
            raise BadParameter("the game is over")
        before, state = self.state, self._at_turn(seat)
        self.state, self._analysing = state, not moving
        self.say(f"={self._number}")

        def report(analysis: Analysis) -> None:
            self.say(self._line(analysis, kata))

        def finish(analysis: Analysis) -> None:
            self.state = before
            if moving:
                self._keep(state.copy().play(analysis.best))
                self.say(f"play {self._name(analysis.best)}")
            self.say("")

        def fail(problem: str) -> None:
            self.state = before
            self.say("")

        limit = self._clocks[seat] if moving else Limit(seconds=math.inf)
        self.begin(limit, finish, report=report, fail=fail, every=every, endless=not moving)
        return None

    def _line(self, analysis: Analysis, kata: bool) -> str:
        parts = []
        for order, info in enumerate(analysis.moves[:20]):
            value = info.value or analysis.value
            mine = (standing(self.game, Analysis(analysis.turn, (), value)) or 0.0) if value else 0.0
            chance, prior = (mine + 1) / 2, info.prior or 0.0
            pv = " ".join(self._name(move) for move in info.pv or (info.move,))
            numbers = (
                f"utility {mine:.4f} winrate {chance:.4f} prior {prior:.4f} lcb {chance:.4f} utilityLcb {mine:.4f}"
                if kata
                else f"winrate {round(10000 * chance)} prior {round(10000 * prior)} lcb {round(10000 * chance)}"
            )
            parts.append(f"info move {self._name(info.move)} visits {info.visits or 0} {numbers} order {order} pv {pv}")
        return " ".join(parts)

    # ---- time ----

    def _time_settings(self, arguments: list[str]) -> str:
        main, extra, stones = (_number(arguments, k) for k in range(3))
        if min(main, extra, stones) < 0:
            raise BadParameter("syntax error: times are not negative")
        if extra > 0 and stones == 0:  # GTP's way to say that there is no limit
            self._clocks = [Limit(), Limit()]
        else:
            self._clocks = [_clock(main or extra, 0 if main else int(stones))] * 2
        return ""

    def _time_left(self, arguments: list[str]) -> str:
        seat = self._colour(arguments)
        self._clocks[seat] = _clock(_number(arguments, 1), _whole(arguments, 2))
        return ""

    # ---- the end, and files ----

    def _dead(self, state: State) -> tuple[int, ...]:
        if self.game.name != "go":
            return ()
        from meijin.games.go import dead_stones

        return dead_stones(state, playouts=300)

    def _final_score(self, arguments: list[str]) -> str:
        if self.game.name == "go":
            from meijin.games.go import final_score

            lead = final_score(self.state, self._dead(self.state))
        elif not self.state.is_over:
            raise BadParameter("cannot score")
        elif self.game.tallies[:1] == ("discs",):
            discs = self.state.tallies["discs"]
            lead = discs[0] - discs[1]
        else:
            lead = self.state.scores[0] - self.state.scores[1]
        return "0" if lead == 0 else f"{'B' if lead > 0 else 'W'}+{abs(lead):g}"

    def _final_status(self, arguments: list[str]) -> str:
        wanted = arguments[0] if arguments else ""
        dead, cells = set(self._dead(self.state)), self.state.cells
        if wanted not in ("dead", "alive", "seki"):
            raise BadParameter("syntax error: ask for dead, alive or seki")
        stones = [c for c in range(len(cells)) if cells[c] and wanted != "seki" and (c in dead) == (wanted == "dead")]
        return "\n".join(self.game.board.cells[cell].name.upper() for cell in stones)

    def _fixed_handicap(self, arguments: list[str]) -> str:
        from meijin.games.go import handicap_cells

        count, size = _whole(arguments, 0), self.game.params["size"]
        if self._past or any(self.state.cells):
            raise BadParameter("board not empty")
        if not 2 <= count <= 9:
            raise BadParameter("invalid number of stones")
        return self._handicap([self.game.board.cells[cell].name for cell in handicap_cells(size, count)])

    def _free_handicap(self, arguments: list[str]) -> str:
        self._handicap(arguments)
        return ""

    def _handicap(self, points: list[str]) -> str:
        if self._past or any(self.state.cells):
            raise BadParameter("board not empty")
        cells = [0] * len(self.state.cells)
        for point in points:
            move = self.game.find(point)
            if int(move) >= len(cells) or cells[move]:
                raise BadParameter("bad vertex list")
            cells[move] = 1
        self._restart(State.set_up(self.game, cells, 1))
        return " ".join(point.upper() for point in points)

    def _load_sgf(self, arguments: list[str]) -> str:
        from meijin.arena.formats import read
        from meijin.core.catalogue import make

        if not arguments:
            raise BadParameter("syntax error: name a file")
        last = _whole(arguments, 1) if len(arguments) > 1 else None
        record = next(iter(read(Path(arguments[0]), "sgf")), None)
        if record is None:
            raise BadParameter("cannot load file")
        game = make(record.task.game)
        if game.name != self.game.name:
            raise BadParameter(f"the file has a game of {game}, and this engine plays {self.game}")
        self.take_up(game)
        self._restart(record.task.begin(game))
        for move in record.moves if last is None else record.moves[: max(0, last - 1)]:
            self._keep(self.state.copy().play(move))
        return ""

    def _print_sgf(self, arguments: list[str]) -> str:
        from meijin.arena.formats import write_to
        from meijin.arena.record import GameRecord, Task

        begun = State(self.game, np.frombuffer(self.state.origin, self.game.dtype)[0])
        position = "" if begun == State(self.game) else begun.position
        task = Task(game=self.game.id, agents=("black", "white"), position=position)
        moves = tuple(map(int, self.state.history))
        scores = self.state.scores if self.state.is_over else (0.0, 0.0)
        text = StringIO()
        write_to([GameRecord(task, moves, scores, "rules" if self.state.is_over else "cap")], text, "sgf")
        return re.sub(r"\n\s*\n", "\n", text.getvalue()).strip()


def _clock(left: float, stones: int) -> Limit:
    """The limit of a clock; in byoyomi `stones` moves must be made in the time left."""
    return Limit(clock=Clock(max(0.0, left), moves_to_go=stones or None))


def _number(arguments: list[str], k: int) -> float:
    try:
        found = float(arguments[k])
    except (IndexError, ValueError):
        raise BadParameter(f"syntax error: argument {k + 1} must be a number") from None
    if not math.isfinite(found):
        raise BadParameter(f"syntax error: argument {k + 1} must be a number")
    return found


def _whole(arguments: list[str], k: int) -> int:
    found = _number(arguments, k)
    if found % 1 or abs(found) > 1e9:
        raise BadParameter(f"syntax error: '{shortened(arguments[k])}' must be a whole number")
    return int(found)
