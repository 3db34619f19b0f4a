"""`check_game`: every law tried on a game, random play described, and warnings; for people who write games.

The rules are tried interpreted first, where a mistake has a line, and only then compiled, where the same mistake could
write outside the record. All of it runs in a child process (see `supervise`), but for the comparison with a GPU, whose
driver does not survive a fork.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from meijin.core.check import comparisons, declarations, laws, setups
from meijin.core.check.advice import warnings
from meijin.core.check.laws import Evidence, Tried
from meijin.core.check.statistics import Statistics
from meijin.core.check.supervise import Watch, supervised
from meijin.core.errors import BadParameter
from meijin.core.game import Game

#: In the order in which they are tried. To add a law, write the function and put it here; one about single positions
#: goes into `laws.POSITION_LAWS`.
LAWS: tuple[Callable[[Evidence], Tried], ...] = (
    declarations.declarations,
    declarations.notation,
    declarations.plain_rules,
    laws.interpreted_play,
    laws.keys,
    comparisons.compiled_equals_interpreted,
    comparisons.seeding,
    comparisons.games_end,
    comparisons.round_trips,
    comparisons.symmetries,
    comparisons.sampling,
    *setups.LAWS,
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
    """What `check_game` found; a game that breaks a law gets a RuleError instead. JSON by `dataclasses.asdict`."""

    game: str
    laws: tuple[Law, ...]
    statistics: Statistics  # of compiled random games
    warnings: tuple[str, ...]  # what no law forbids, but is probably a mistake
    games: int  # interpreted games
    positions: int  # interpreted positions

    def __str__(self) -> str:
        head = f"{self.game}: every law holds ({self.games} games, {self.positions} positions interpreted)"
        laws = (f"  {law}" for law in self.laws)
        return "\n".join([head, *laws, f"  {self.statistics}", *(f"  warning: {each}" for each in self.warnings)])


def check_game(
    game: Game,
    *,
    games: int = 20,
    seed: int = 0,
    gpu: bool | None = None,
    timeout: float = 30.0,
    progress: Callable[[str], None] = lambda law: None,
) -> Report:
    """Try every law on a game and describe its play; the first broken law raises a RuleError with a remedy.

    `games` scales the work; long games are interpreted less often. `gpu`: compare with a GPU if there is one (None),
    always (True: without one it is an error), or never (False). `timeout`: seconds after which one call of a rule, or
    of a compiled loop of rules, counts as hanging. `progress` is called with the name of each law that is tried.
    """
    if games < 1:
        raise BadParameter(f"games={games} must be at least 1")
    if not timeout > 0:
        raise BadParameter(f"timeout={timeout} must be above 0")
    if gpu:
        from meijin.core import cuda

        cuda.require()
    report = supervised(game, lambda watch: _report(Evidence(game, games, seed, watch)), timeout, progress)
    law = comparisons.gpu_equals_cpu
    if gpu is False:
        tried = Tried(0, "games", "left out: gpu=False")
    else:
        progress(_name(law))
        tried = law(Evidence(game, games, seed, Watch(game, timeout)))
    return replace(report, laws=(*report.laws, _law(law, tried)))


def _report(evidence: Evidence) -> Report:
    held = []
    for law in LAWS:
        evidence.watch.law(_name(law))
        held.append(_law(law, law(evidence)))
        if law is laws.interpreted_play:
            held += [_law(each, Tried(evidence.judged[each], "positions")) for each in laws.POSITION_LAWS]
    assert evidence.statistics is not None
    return Report(
        game=str(evidence.game),
        laws=tuple(held),
        statistics=evidence.statistics,
        warnings=warnings(evidence),
        games=len(evidence.trace),
        positions=len(evidence.positions),
    )


def _name(law: Callable[..., object]) -> str:
    return law.__name__.replace("_", " ")


def _law(law: Callable[..., object], tried: Tried) -> Law:
    says = (law.__doc__ or "").strip().splitlines()[0]
    return Law(_name(law), says, tried.count, tried.unit, tried.note)
