"""The catalogue of games: `@game` registers a function that makes one, `make` calls it by expression."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from meijin.core.errors import BadParameter, MeijinError, RuleError
from meijin.core.expression import Call, parse
from meijin.core.game import Game
from meijin.core.parameters import parameters
from meijin.core.registry import GAMES_GROUP, Registry

#: Every game by name. A module is named after its game, except where that is not a Python name.
games: Registry[Game] = Registry(
    "game",
    GAMES_GROUP,
    package="meijin.games",
    own={"2048": "meijin.games.twenty48:twenty48"},
    unlisted={"openspiel": "meijin.interop.imported:openspiel"},
)

Factory = Callable[..., Game]


def game(name: str, *, title: str = "") -> Callable[[Factory], Factory]:
    """Register the decorated function as the maker of a game. Its arguments are the game's parameters.

    Equal parameters give the very same `Game`, so its kernels are compiled once.
    """

    def decorate(factory: Factory) -> Factory:
        signature = inspect.signature(factory)
        known = {each.name: each for each in parameters(factory)}
        made: dict[tuple[Any, ...], Game] = {}

        @functools.wraps(factory)
        def make_game(*args: Any, **kwargs: Any) -> Game:
            bound = signature.bind(*args, **kwargs)
            bound.apply_defaults()
            params = {k: known[k].check(f"{name}: {k}", _frozen(value)) for k, value in bound.arguments.items()}
            key = tuple(params.items())
            if key not in made:
                changed = {k: v for k, v in params.items() if v != signature.parameters[k].default}
                id_ = str(Call(name, (), changed))
                try:
                    new = factory(**params)
                except (BadParameter, RuleError) as error:
                    raise type(error)(f"{id_}: {error}") from None
                if not isinstance(new, Game):
                    raise RuleError(f"{name}: the function that makes a game returns a Game, not {new!r}")
                new.name, new.title, new.params, new.id = name, title or name.replace("_", " "), params, id_
                new.help, new.parameters = new.help or inspect.getdoc(factory) or "", tuple(known.values())
                made[key] = new
            return made[key]

        games.register(name, make_game, title=title)
        return make_game

    return decorate


def make(expression: str, **params: Any) -> Game:
    """The game of an expression, as in `make("othello(size=6)")` or `make("othello", size=6)`."""
    call = parse(expression)
    if params:
        call = Call(call.name, call.args, {**call.kwargs, **params})
    try:
        return games.make(call)
    except TypeError as error:  # unhashable or unusable parameter values
        raise MeijinError(f"{expression}: {error}") from error


def game_of(what: Game | str) -> Game:
    """A game as it is, or the one of an expression."""
    if isinstance(what, Game):
        return what
    if isinstance(what, str):
        return make(what)
    raise BadParameter(f"{what!r} is not a game; give a Game, or an expression such as 'othello(size=6)'")


def game_names() -> list[str]:
    """The names of all games, sorted: those of Meijin, of installed packages and of loaded files."""
    return games.names()


def _frozen(value: Any) -> Any:
    return tuple(_frozen(item) for item in value) if isinstance(value, list | tuple) else value
