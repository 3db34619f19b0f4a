"""`check_game`: the laws every game must keep, tried on a game; made for people who write one.

The rules are first tried interpreted, where a mistake has a line, and only then compiled, where the same mistake could
write into foreign memory.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from meijin.core import comparisons, laws
from meijin.core.errors import BadParameter
from meijin.core.game import Game
from meijin.core.laws import Evidence, Tried

#: In the order in which they are tried; each is a function whose docstring says the law.
LAWS: tuple[Callable[[Evidence], Tried], ...] = (
    laws.declarations,
    laws.notation,
    laws.plain_rules,
    laws.interpreted_play,
    laws.keys,
    comparisons.compiled_equals_interpreted,
    comparisons.seeding,
    comparisons.games_end,
    comparisons.round_trips,
    comparisons.symmetries,
    comparisons.sampling,
    comparisons.gpu_equals_cpu,
)


@dataclass(frozen=True, slots=True)
class Law:
    """A law that holds, as far as it was tried."""

    name: str
    says: str
    count: int  # how often it was tried
    unit: str  # what `count` counts
    note: str  # what was seen, or why the law was left out

    def __str__(self) -> str:
        return f"{self.name}: {self.count} {self.unit}" + (f" ({self.note})" if self.note else "")


@dataclass(frozen=True, slots=True)
class Report:
    """What `check_game` tried; a game that breaks a law gets a RuleError instead."""

    game: str
    laws: tuple[Law, ...]
    games: int  # interpreted games
    positions: int  # interpreted positions
    branching: int  # most moves or outcomes seen in one position
    longest: int  # most plies seen in one game

    def __str__(self) -> str:
        head = f"{self.game}: every law holds ({self.games} games, {self.positions} positions interpreted)"
        return "\n".join([head, *(f"  {law}" for law in self.laws)])


def check_game(game: Game, *, games: int = 20, seed: int = 0, gpu: bool | None = None) -> Report:
    """Try every law on a game and report; the first broken one raises a RuleError that says what to mend.

    `games` scales the work; long games are interpreted less often. `gpu`: compare with a GPU when there is one
    (None), always (True: without one it is an error), or never (False).
    """
    if games < 1:
        raise BadParameter(f"games={games}: try at least one")
    evidence = Evidence(game, games, seed, gpu)
    held = []
    for law in LAWS:
        held.append(_law(law, law(evidence)))
        if law is laws.interpreted_play:
            held += [_law(each, Tried(evidence.judged[each], "positions")) for each in laws.POSITION_LAWS]
    return Report(
        game=str(game),
        laws=tuple(held),
        games=len(evidence.trace),
        positions=len(evidence.positions),
        branching=max(len(position.listed) for position in evidence.positions),
        longest=max(len(positions) - 1 for positions in evidence.trace),
    )


def _law(law: Callable[..., object], tried: Tried) -> Law:
    says = (law.__doc__ or "").strip().splitlines()[0]
    return Law(law.__name__.replace("_", " "), says, tried.count, tried.unit, tried.note)
