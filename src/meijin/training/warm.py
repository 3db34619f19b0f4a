"""Games to learn from before the first of one's own: those of another agent, of a file or of a database."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

from meijin.agents.catalogue import build
from meijin.arena import formats
from meijin.arena.match import match
from meijin.arena.pool import cores
from meijin.arena.record import GameRecord
from meijin.arena.store import Store
from meijin.core.errors import BadParameter
from meijin.core.game import Game
from meijin.learning.zero.config import WarmConfig

#: Moves and outcomes, final scores, and how many plies belong to the opening, which no agent chose.
PlayedGame = tuple[tuple[int, ...], tuple[float, ...], int]


def check_warm(game: Game, warm: WarmConfig) -> None:
    """Raise if such a warm start makes no sense."""
    if warm.agent and warm.records:
        raise BadParameter("a warm start takes an agent's games or a file of games, not both")
    if warm.agent:
        build(warm.agent, game)
        if warm.games < 1:
            raise BadParameter(f"warm.games={warm.games}: a warm start needs games of {warm.agent}, such as 200")
    if warm.records and not Path(warm.records).is_file():
        raise BadParameter(f"there is no file of games '{warm.records}'")


def warm_games(game: Game, warm: WarmConfig, seed: int, on_game: Callable[[int, int], bool]) -> list[PlayedGame]:
    """Read or play the games. `on_game(done, total)` follows each that is played; once it says no, that is all."""
    if warm.records:
        # The score of a forfeited game says nothing about its positions.
        found = [_played(record) for record in _records(Path(warm.records), game) if record.ending != "forfeit"]
        if not found:
            raise BadParameter(f"{warm.records} holds no games of {game} from its start")
        return found[: warm.games or None]
    found = []

    def add(record: GameRecord) -> None:
        found.append(_played(record))
        if not on_game(len(found), warm.games):
            raise _Enough

    with suppress(_Enough):
        match(game, [warm.agent] * game.seats, warm.games, seed, on_game=add, workers=cores())
    return found


class _Enough(Exception):
    """Ends a match from within."""


def _played(record: GameRecord) -> PlayedGame:
    return tuple(record.moves), tuple(record.scores), len(record.task.opening)


def _from_start(record: GameRecord, game: Game) -> bool:
    return record.task.game == str(game) and not record.task.position


def _records(path: Path, game: Game) -> Iterator[GameRecord]:
    if path.suffix in (".db", ".sqlite", ".sqlite3"):
        with Store(path, create=False) as store:
            yield from formats.verified(store.games(game=str(game)))
        return
    yield from (record for record in formats.read(path) if _from_start(record, game))
