"""Names for things that are made by functions: the games and the agents.

A `Registry` maps a name to a factory, a plain function whose parameters are those of the game or agent.
The modules of the registry's own package add names, installed packages do so through entry points, and
`load_file` adds those of a single file.
"""

from __future__ import annotations

import hashlib
import inspect
import linecache
import logging
import pkgutil
import sys
import threading
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import ModuleType
from typing import Any, Generic, TypeVar, overload

from meijin.core.errors import BadParameter, MeijinError, UnknownName, suggest
from meijin.core.expression import Call, parse

T = TypeVar("T")
Factory = TypeVar("Factory", bound=Callable[..., Any])

GAMES_GROUP = "meijin.games"
AGENTS_GROUP = "meijin.agents"

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Entry(Generic[T]):
    """One registered name."""

    name: str
    factory: Callable[..., T]
    metadata: dict[str, Any] = field(default_factory=dict)  # whatever the registering module wants known

    @property
    def summary(self) -> str:
        """The first line of the factory's docstring."""
        lines = (inspect.getdoc(self.factory) or "").splitlines()
        return lines[0] if lines else ""

    @property
    def place(self) -> str:
        """Where the factory is written, "file:line" where that is known."""
        code = getattr(inspect.unwrap(self.factory), "__code__", None)
        return f"{code.co_filename}:{code.co_firstlineno}" if code else f"module {self.factory.__module__}"

    @cached_property
    def signature(self) -> inspect.Signature:
        """The factory's; looked up once, as agents are made again for every game of a match."""
        return inspect.signature(self.factory)

    @property
    def parameters(self) -> dict[str, inspect.Parameter]:
        """The factory's parameters in order, by name."""
        return dict(self.signature.parameters)

    def bind(self, call: Call, *given: object) -> inspect.BoundArguments:
        """Match the arguments of `call` with the factory's parameters and fill in the defaults.

        `given` are values for the factory's first parameters that the program supplies and not the person who
        wrote the expression; error messages leave those parameters out.
        """
        mine = list(self.parameters.values())[len(given) :]
        kinds = {parameter.kind for parameter in mine}
        ordered = [p for p in mine if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
        keywords = [p.name for p in mine if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]

        def fail(problem: str) -> BadParameter:
            known = ", ".join(map(_show, mine)) or "no parameters"
            return BadParameter(f"{self.name}: {problem}{'' if problem.endswith('?') else ';'} it takes {known}")

        for key in call.kwargs:
            if key not in keywords and inspect.Parameter.VAR_KEYWORD not in kinds:
                raise fail(f"unknown parameter '{key}'{suggest(key, keywords)}")
        if len(call.args) > len(ordered) and inspect.Parameter.VAR_POSITIONAL not in kinds:
            raise fail(f"{len(call.args)} arguments without a name, but it takes at most {len(ordered)}")
        for parameter, value in zip(ordered, call.args, strict=False):
            if parameter.name in call.kwargs and parameter.kind is not parameter.POSITIONAL_ONLY:
                raise fail(f"parameter '{parameter.name}' is given twice, the first time as {value!r}")
        filled = {parameter.name for parameter in ordered[: len(call.args)]} | set(call.kwargs)
        for parameter in mine:
            optional = parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
            if not optional and parameter.default is parameter.empty and parameter.name not in filled:
                raise fail(f"parameter '{parameter.name}' is missing")
        bound = self.signature.bind(*given, *call.args, **call.kwargs)
        bound.apply_defaults()
        return bound


class Registry(Generic[T]):
    """Factories by name, from this package, from entry points and from files."""

    def __init__(
        self,
        kind: str,
        group: str,
        *,
        plural: str = "",
        package: str | None = None,
        own: Mapping[str, str] | None = None,
        unlisted: Mapping[str, str] | None = None,
    ) -> None:
        """Make a registry.

        `kind` is the word for one of its things in messages ("game"), with its `plural` where an s does not make it,
        and `group` the group of entry points. `own` says where things are, name -> "module:factory"; `package` is one
        whose modules register things, each best named after the one that it registers. `unlisted` is as `own`, for
        things that `names` leaves out. Nothing is imported before a name is asked for.
        """
        self.kind = kind
        self.plural = plural or f"{kind}s"
        self.group = group
        self.package = package
        self.own = dict(own or {})
        self.unlisted = dict(unlisted or {})
        #: Called before a factory is, if set; it may raise. For programs that take expressions from strangers.
        self.check: Callable[[Entry[T], inspect.BoundArguments], None] | None = None
        self.broken: dict[str, str] = {}  # entry points that could not be loaded, with the reason
        self._entries: dict[str, Entry[T]] = {}
        self._waiting: list[EntryPoint] | None = None  # entry points not loaded yet; None: not looked up
        # Guards loading only: `register` runs inside imports, where waiting for a lock could deadlock.
        self._loading = threading.RLock()

    @overload
    def register(self, name: str, factory: Factory, /, **metadata: object) -> Factory: ...
    @overload
    def register(self, name: str, /, **metadata: object) -> Callable[[Factory], Factory]: ...
    def register(self, name: str, factory: Callable[..., T] | None = None, /, **metadata: object) -> Any:
        """Add a factory under `name`; without `factory`, return a decorator that does."""
        if factory is None:
            return lambda decorated: self.register(name, decorated, **metadata)
        if parse(name) != Call(name):
            raise BadParameter(f"'{name}' cannot name a {self.kind}; use letters, digits, '_', '-' and '.'")
        if not callable(factory):
            raise BadParameter(f"{self.kind} '{name}' is {factory!r}; register the function that makes it")
        entry = Entry(name, factory, metadata)
        old = self._entries.get(name)
        if old is not None and not _same_definition(old, entry):
            raise BadParameter(
                f"two {self.kind}s are named '{name}': one at {old.place}, one at {entry.place}; rename one of them"
            )
        self._entries[name] = entry
        return factory

    def names(self) -> list[str]:
        """Return every known name, sorted."""
        self._load_entry_points(unnamed=True)
        waiting = {point.name for point in self._unloaded()}
        return sorted((waiting | set(self._entries)) - set(self.unlisted))

    def get(self, name: str) -> Entry[T]:
        """Return the entry called `name`, or raise `UnknownName` with the closest one."""
        if name in self.unlisted and name not in self._entries:
            with self._loading:
                self._load(EntryPoint(name, self.unlisted[name], ""))
        if name not in self._entries:
            # The entry point of that name first: it alone is usually enough, and every load costs imports.
            self._load_entry_points(only=name)
        if name not in self._entries:
            self._load_entry_points()
        if name in self._entries:
            return self._entries[name]
        if name in self.broken:
            raise UnknownName(f"{self.kind} '{name}' could not be loaded: {self.broken[name]}")
        hint = suggest(name, self._entries) or f"; known {self.plural}: {', '.join(self.names()) or 'none'}"
        raise UnknownName(f"unknown {self.kind} '{name}'{hint}")

    def bind(self, call: Call, *given: object) -> inspect.BoundArguments:
        """Check `call` against the signature of the factory it names; see `Entry.bind`."""
        return self.get(call.name).bind(call, *given)

    def make(self, expression: str | Call, *given: object) -> T:
        """Call the factory that `expression` names with the expression's arguments."""
        call = parse(expression) if isinstance(expression, str) else expression
        bound = self.bind(call, *given)
        if self.check is not None:
            self.check(self.get(call.name), bound)
        try:
            return self.get(call.name).factory(*bound.args, **bound.kwargs)
        except (TypeError, OverflowError) as error:  # an argument of a kind, or a number of a size, that it cannot use
            raise BadParameter(f"{call}: {error}") from error

    def load_file(self, path: str | Path) -> tuple[Entry[T], ...]:
        """Execute a Python file and return what it registered here; see the function `load_file`."""
        return load_file(path, self)

    def _load_entry_points(self, only: str | None = None, unnamed: bool = False) -> None:
        """Load all that wait, those called `only`, or those whose names are known only after loading."""
        with self._loading:
            wanted = [
                point
                for point in self._unloaded()
                if only in (None, point.name) and not (unnamed and point.name in self.own)
            ]
            self._waiting = [point for point in self._unloaded() if point not in wanted]
            for point in wanted:
                before = dict(self._entries)
                try:
                    self._load(point)
                except Exception as error:
                    # Python has forgotten the module that failed, but not those it imported before.
                    self._entries = {
                        name: entry
                        for name, entry in self._entries.items()
                        if name in before or entry.factory.__module__ in sys.modules
                    }
                    self.broken[point.name] = f"{type(error).__name__}: {error}"
                    _log.warning(
                        "skipped the %s '%s' of entry point %s: %s",
                        self.kind, point.name, point.value, self.broken[point.name],
                    )  # fmt: skip

    def _unloaded(self) -> list[EntryPoint]:
        """What is not loaded yet: the modules of the package, as entry points, then those of the group."""
        if self._waiting is None:
            own = [EntryPoint(name, where, "") for name, where in self.own.items()]
            if self.package is not None:
                modules = pkgutil.iter_modules(import_module(self.package).__path__)
                names = sorted(module.name for module in modules if not module.name.startswith("_"))
                own += [EntryPoint(name, f"{self.package}.{name}", "") for name in names]
            self._waiting = [*own, *entry_points(group=self.group)]
        return self._waiting

    def _load(self, point: EntryPoint) -> None:
        """Load one entry point: a factory, or a module whose decorators register."""
        loaded = point.load()
        if not isinstance(loaded, ModuleType):
            if all(entry.factory is not loaded for entry in self._entries.values()):
                self.register(point.name, loaded)
        elif point.group and all(  # a module of the own package may be a helper
            entry.factory.__module__ != loaded.__name__ for entry in self._entries.values()
        ):
            raise MeijinError(f"module {loaded.__name__} registers no {self.kind}")


def load_file(path: str | Path, *registries: Registry[Any]) -> tuple[Entry[Any], ...]:
    """Execute a Python file under a module name of its own and return what it added to `registries`.

    Loading a file again replaces what it registered before. A file that fails leaves no trace.
    """
    file = Path(path).resolve()
    try:
        source = file.read_bytes()
    except OSError as error:
        raise BadParameter(f"cannot read '{path}': {error.strerror}; give the path of a Python file") from error
    digest = hashlib.sha256(str(file).encode()).hexdigest()[:12]
    module = ModuleType(f"meijin_file_{file.stem}_{digest}")
    module.__file__ = str(file)
    old_module = sys.modules.get(module.__name__)
    old = [dict(registry._entries) for registry in registries]
    for registry in registries:
        registry._entries = _without(registry._entries, module.__name__)
    others = [dict(registry._entries) for registry in registries]
    linecache.checkcache(str(file))
    sys.modules[module.__name__] = module  # dataclasses and pickling look their module up
    try:
        # Compiled here and not by an import loader: a stale bytecode file could hide an edit.
        exec(compile(source, str(file), "exec"), module.__dict__)
        return _added(path, registries, others)
    except (Exception, SystemExit) as error:
        for registry, entries in zip(registries, old, strict=True):
            registry._entries = _without(registry._entries, module.__name__) | entries
        if old_module is None:
            del sys.modules[module.__name__]
        else:
            sys.modules[module.__name__] = old_module
        line = _line_of(error, str(file))
        if line is None:
            raise
        problem = str(error) if isinstance(error, MeijinError) else f"{type(error).__name__}: {error}"
        raise MeijinError(f"{path}:{line}: {problem}") from error


def _without(entries: dict[str, Entry[Any]], module: str) -> dict[str, Entry[Any]]:
    return {name: entry for name, entry in entries.items() if entry.factory.__module__ != module}


def _added(
    path: str | Path, registries: tuple[Registry[Any], ...], others: list[dict[str, Entry[Any]]]
) -> tuple[Entry[Any], ...]:
    """What `registries` hold beyond `others`, after checking that it is not empty and hides nothing installed."""
    added: list[Entry[Any]] = []
    for registry, before in zip(registries, others, strict=True):
        for name, entry in registry._entries.items():
            if before.get(name) is entry:
                continue
            for point in registry._unloaded():
                # An entry point of a module that the file imported is not in its way.
                if point.name == name and point.module != entry.factory.__module__:
                    raise BadParameter(
                        f"two {registry.kind}s are named '{name}': one at {entry.place}, "
                        f"one in the installed {point.value}; rename one of them"
                    )
            added.append(entry)
    if not added:
        kinds = " and no ".join(registry.kind for registry in registries)
        raise BadParameter(f"{path} registers no {kinds}; decorate the function that makes it")
    return tuple(added)


def _show(parameter: inspect.Parameter) -> str:
    """The parameter as it would be written in an expression."""
    stars = "*" if parameter.kind is parameter.VAR_POSITIONAL else ""
    stars = "**" if parameter.kind is parameter.VAR_KEYWORD else stars
    default = "" if parameter.default is parameter.empty else f"={parameter.default!r}"
    return f"{stars}{parameter.name}{default}"


def _same_definition(old: Entry[Any], new: Entry[Any]) -> bool:
    """Whether `new` is `old` made again: a module imported twice, or a notebook's cell run again."""
    if old.factory is new.factory:
        return True
    identities = [(entry.factory.__module__, entry.factory.__qualname__) for entry in (old, new)]
    return identities[0] == identities[1] and (old.place == new.place or identities[0][0] == "__main__")


def _line_of(error: BaseException, file: str) -> int | None:
    """The line of `file` that raised `error`, None when the error did not come from it."""
    if isinstance(error, SyntaxError) and error.filename == file:
        return error.lineno
    lines = [f.lineno for f in traceback.extract_tb(error.__traceback__) if f.filename == file]
    return lines[-1] if lines else None
