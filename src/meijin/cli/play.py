"""`meijin play`: who plays, and where the game begins."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from pathlib import Path

from meijin.agents.catalogue import build
from meijin.agents.champion import FULL
from meijin.cli import saved
from meijin.cli.advisor import strongest
from meijin.cli.common import limit, position, prepare
from meijin.cli.saved import SavedGame
from meijin.cli.session import HUMAN, Session
from meijin.core.agent import Agent
from meijin.core.catalogue import make
from meijin.core.errors import BadParameter, MeijinError
from meijin.core.expression import parse
from meijin.core.game import Game
from meijin.core.options import between


def play(
    name: str | None,
    seats: Sequence[str],
    level: int | None,
    begin: str,
    moves: str,
    seconds: float | None,
    simulations: int | None,
    seed: int | None,
    load: Sequence[Path],
    resume: bool,
) -> None:
    if resume:
        if seats or level is not None or begin or moves or seed is not None:
            raise BadParameter(
                "--resume continues a game as it was; leave out --seat, --level, --position, --moves and --seed"
            )
        session = _resumed(name, load)
    elif name is None:
        raise BadParameter("name a game, as in 'meijin play connect_four'; 'meijin games' lists them")
    else:
        if level is not None:
            between("--level", level, 1, FULL)
            if level < FULL and (seconds is not None or simulations is not None):
                raise BadParameter(
                    f"--level={level}: a level below {FULL} decides by itself how long to think; leave out --seconds "
                    "and --simulations"
                )
        limit(seconds, simulations)  # a wrong one is found before anything else happens
        prepare(load)
        game = make(name)
        start = secrets.randbits(48) if seed is None else seed
        players = seated(game, seats, start, level)
        state = position(game, moves, begin)
        begun = SavedGame(
            str(game),
            tuple(HUMAN if player is None else player.name for player in players),
            position=begin,
            opening=len(state.history),
            seconds=seconds,
            simulations=simulations,
            seed=start,
            load=tuple(str(path.resolve()) for path in load),
            began=saved.now(),
        )
        session = Session(state, players, begun, offer=saved.newest(str(game)))
    while (following := session.run()) is not None:
        session = resumed(*following)


def seated(game: Game, seats: Sequence[str], seed: int, level: int | None) -> list[Agent | None]:
    """Who plays each seat; None is the person at the keyboard. `level`: of the champion in the seats not given."""
    chosen: dict[int, str] = {}
    for text in seats:
        seat, equals, agent = text.partition("=")
        if not equals or not seat.strip().isdecimal() or not agent.strip():
            raise BadParameter(f"--seat '{text}': write SEAT=AGENT, as in --seat 1=random")
        number = int(seat)
        if number >= game.seats:
            known = ", ".join(map(str, range(game.seats)))
            raise BadParameter(f"--seat '{text}': {game} has no seat {number}; its seats are {known}")
        if number in chosen:
            raise BadParameter(f"--seat '{text}': seat {number} is given twice; name one agent per seat")
        chosen[number] = agent
    chosen.setdefault(0, HUMAN)
    usual = None if level is None else f"champion(level={level})"
    if usual and len(chosen) == game.seats:
        raise BadParameter(f"--level={level}: nobody is left to play at that level; name a seat: --seat K='{usual}'")
    return [_player(chosen.get(seat, usual), game, seed + seat) for seat in range(game.seats)]


def _player(name: str | None, game: Game, seed: int) -> Agent | None:
    if name is None:
        agent = strongest(game)
        agent.seed(seed)
        return agent
    call = parse(name)
    return None if call.name == HUMAN else build(call, game, seed)


def _resumed(name: str | None, load: Sequence[Path]) -> Session:
    found = None
    if name is None:
        found = saved.newest()
    else:
        prepare(load)
        found = saved.newest(str(make(name)))
    if found is None:
        raise MeijinError(f"there is no unfinished game{'' if name is None else f' of {name}'} to resume")
    return resumed(*found)


def resumed(path: Path, game: SavedGame) -> Session:
    """The session of a saved game. Its rules check every move."""
    try:
        prepare([Path(file) for file in game.load])
        rules = make(game.game)
        if len(game.seats) != rules.seats:
            raise MeijinError(f"{len(game.seats)} agents for {rules.seats} seats")
        players = [_player(name, rules, game.seed + seat) for seat, name in enumerate(game.seats)]
        state = game.beginning(rules).play_line(game.moves)
        return Session(state, players, game, path=path)
    except MeijinError as error:
        raise MeijinError(f"the game in {path} cannot be resumed: {error}") from None
