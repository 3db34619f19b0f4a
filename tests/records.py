"""Random records for tests: legal games of any kind with every field filled now and then."""

from __future__ import annotations

import random

from meijin.arena.record import GameRecord, MoveNote, Task
from meijin.arena.stepper import Stepper
from meijin.core.agent import Limit
from meijin.core.catalogue import make
from meijin.core.game import OVER

TEXTS = ("", "cup", 'q"uo\\te [x] {y}', "名人戦; 1)", "a\nb\tc", "näme: ]")
AGENTS = ("random", "mcts(simulations=100)", 'nply(td("runs\\\\c4"), depth=2)', "名人", 'a"]b')


class RandomGames:
    """Games of one kind, as if they had been played; the same seed gives the same games."""

    def __init__(self, expression: str, seed: int = 0):
        self.walk = Stepper(make(expression))
        self.rng = random.Random(f"{expression} {seed}")

    def record(
        self, number: int, *, event: str = "cup", analyses: bool = True, full: bool = False, most: int | None = None
    ) -> GameRecord:
        """Game `number` of an event; `full` plays it to its end, `most` stops it after so many plies."""
        rng, walk = self.rng, self.walk.restart()
        moves: list[int] = []
        stop = None if full or rng.random() < 0.7 else rng.randrange(20)
        stop = most if stop is None else stop
        while walk.turn != OVER and len(moves) != stop:
            moves.append(int(walk.play(rng.choice(walk.legal))))
        seats = walk.game.seats
        over = walk.turn == OVER
        ending = "rules" if over else rng.choice(["forfeit", "judged", "cap"])
        scores = walk.scores if over else tuple(float(rng.choice([-1, 0, 1])) for _ in range(seats))
        task = Task(
            game=str(walk.game),
            agents=tuple(rng.choice(AGENTS) for _ in range(seats)),
            opening=tuple(moves[: rng.choice([0, 0, 2])]),
            seed=rng.choice([0, 7, rng.getrandbits(64), -5]),
            limits=rng.choice([(), tuple(self._limit() for _ in range(seats))]),
            event=event,
            number=number,
            round=rng.randrange(3),
        )
        return GameRecord(
            task=task,
            moves=tuple(moves),
            scores=scores,
            ending=ending,
            forfeit=rng.randrange(seats) if ending == "forfeit" else None,
            reason="" if over else rng.choice(TEXTS),
            notes=tuple(self._note(seats, analyses) for _ in moves) if rng.random() < 0.5 else (),
            began=rng.choice(["", "2026-08-01T12:30:00.125Z"]),
            seconds=rng.choice([0.0, rng.random()]),
            headers=rng.choice([{}, {"site": "here", "näme": TEXTS[2]}]),
        )

    def _limit(self) -> Limit:
        rng = self.rng
        return Limit(rng.choice([None, 0.25]), rng.choice([None, 100]), rng.choice([None, 3]))

    def _note(self, seats: int, analyses: bool) -> MoveNote:
        rng = self.rng
        value = tuple(rng.uniform(-1, 1) for _ in range(seats)) if rng.random() < 0.8 else None
        analysis = {"nodes": 5, "pv": ["a1"], "note": TEXTS[2]} if analyses and rng.random() < 0.05 else None
        return MoveNote(rng.choice([None, rng.random()]), value, analysis)
