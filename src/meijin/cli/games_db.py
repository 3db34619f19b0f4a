"""`meijin games-db`: list, count, import and export the games of a database."""

from __future__ import annotations

import shlex
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from rich.text import Text

from meijin.arena import formats
from meijin.arena.queries import AgentResults, Branch, Filters, GameSummary
from meijin.arena.record import GameRecord
from meijin.arena.record_codec import EncodedRecord
from meijin.arena.store import Store
from meijin.cli import words
from meijin.cli.common import position, prepare
from meijin.cli.console import busy, in_whole_words, out, print_json, table
from meijin.cli.program import interruptible
from meijin.core.catalogue import make
from meijin.core.errors import BadParameter, MeijinError
from meijin.core.state import State

#: Endings in words, see `record.ENDINGS`.
ENDED = {"rules": "played to the end", "forfeit": "forfeited", "judged": "ended by a judge", "cap": "ended by the cap"}


def _open(path: Path) -> Store:
    return Store(path, create=False)


# ---- list ----


def list_(path: Path, filters: Filters, most: int, as_json: bool) -> None:
    with _open(path) as store:
        total = store.count(**filters)
        rows = list(islice(store.results(**filters), min(most, total) or None))
    if as_json:
        listed = [{**row._asdict(), "game": row.id, "rules": row.game} for row in rows]
        print_json({"games": total, "shown": listed})
        return
    console = out()
    if not total:
        console.print(Text(_none(path), "dim"))
        return
    groups: dict[tuple[str, str], list[GameSummary]] = {}
    for row in rows:
        groups.setdefault((row.game, row.event), []).append(row)
    for (game, event), own in groups.items():
        console.print(Text.assemble((game, "bold"), (f"  {event}", "dim")))
        shown = table("game", "players and scores", "ending", "plies", "began", right=("game", "plies", "began"))
        for row in own:
            players = Text("\n").join(_player(row, seat) for seat in range(len(row.agents)))
            ending = row.ending if row.forfeit is None else f"{row.ending} of {_seat_name(game, row.forfeit)}"
            began = row.began[:16].replace("T", " ")
            shown.add_row(str(row.id), players, ending, str(row.plies), began)
        console.print(in_whole_words(shown))
    more = "; --most 0 shows all" if total > len(rows) else ""
    one = f"; 'meijin replay {shlex.quote(str(path))} --game {rows[0].id}' shows one" if rows else ""
    console.print(Text(f"{len(rows):,} of {total:,} games{more}{one}", "dim"))


def _player(row: GameSummary, seat: int) -> Text:
    best = row.scores[seat] == max(row.scores) and len(set(row.scores)) > 1
    return Text.assemble((row.agents[seat], "bold" if best else ""), (f" {words.number(row.scores[seat])}", "cyan"))


def _seat_name(game: str, seat: int) -> str:
    try:
        return make(game).seat_name(seat)
    except MeijinError:  # a game of a file that is not loaded
        return f"player {seat + 1}"


def _none(path: Path) -> str:
    return f"no matching games in '{path}'; 'meijin games-db stats {path}' counts all games"


# ---- stats ----


def stats(path: Path, filters: Filters, crosstable: bool, as_json: bool) -> None:
    kinds: dict[str, Counter[str]] = {}
    events: Counter[str] = Counter()
    endings: Counter[str] = Counter()
    with _open(path) as store:
        for row in store.results(**filters):
            kind = kinds.setdefault(row.game, Counter())
            kind.update(games=1, plies=row.plies)
            events[row.event] += 1
            endings[row.ending] += 1
            best = max(row.scores)
            if len(row.scores) > 1:
                first = [seat for seat, score in enumerate(row.scores) if score == best]
                kind[f"seat {first[0]} wins" if len(first) == 1 else "draws"] += 1
        agents = store.agents(**filters)
        pairs = store.crosstable(**filters) if crosstable else {}
    total = sum(events.values())
    if as_json:
        found: dict[str, Any] = {
            "games": total,
            "endings": dict(endings),
            "events": dict(events),
            "rules": {name: dict(counts) for name, counts in kinds.items()},
            "agents": [{"name": name, **_count_json(count)} for name, count in agents.items()],
        }
        if crosstable:
            found["crosstable"] = [
                {"agent": one, "other": other, **_count_json(count)} for (one, other), count in pairs.items()
            ]
        print_json(found)
        return
    console = out()
    ended = ", ".join(f"{count:,} {ENDED[name]}" for name, count in endings.most_common())
    console.print(Text.assemble((words.count(total, "game"), "bold"), (f"  {ended}" if ended else "", "dim")))
    if not total:
        return
    shown = table("event", "games", right=("games",))
    for name, count in events.items():
        shown.add_row(name or "-", f"{count:,}")
    console.print(shown)
    shown = table("game", "games", "mean plies", "results", right=("games", "mean plies"))
    for name, counts in kinds.items():
        results = ", ".join(_won(name, key, counts[key]) for key in sorted(counts) if key not in ("games", "plies"))
        shown.add_row(name, f"{counts['games']:,}", f"{counts['plies'] / counts['games']:.1f}", results)
    console.print(in_whole_words(shown))
    plain_heads = ("games", "wins", "draws", "losses", "points")
    numbers = (*plain_heads, "mean score") if len(kinds) == 1 else plain_heads  # scores of different games have no mean
    shown = table("agent", *numbers, right=numbers)
    for name, tally in sorted(agents.items(), key=lambda item: -item[1].points / item[1].games):
        plain = [f"{n:,}" for n in (tally.games, tally.wins, tally.draws, tally.losses)]
        mean = [words.number(round(tally.score / tally.games, 3))] if len(kinds) == 1 else []
        shown.add_row(Text(name, "bold cyan"), *plain, _share(tally), *mean)
    console.print(shown)
    if crosstable:
        _print_crosstable(pairs)


def _won(game: str, result: str, count: int) -> str:
    """A result that `stats` counts, in words: "12 won by yellow"."""
    seat = result.removeprefix("seat ").removesuffix(" wins")
    return words.count(count, "draw") if result == "draws" else f"{count:,} won by {_seat_name(game, int(seat))}"


def _share(count: AgentResults) -> str:
    decided = count.wins + count.draws + count.losses
    return f"{100 * count.points / decided:.1f} %" if decided else "-"


def _count_json(count: AgentResults) -> dict[str, Any]:
    return {**count._asdict(), "points": count.points}


def _print_crosstable(pairs: dict[tuple[str, str], AgentResults]) -> None:
    names = sorted({name for pair in pairs for name in pair})
    heads = [str(k + 1) for k in range(len(names))]
    shown = table("agent", "no", *heads, right=("no", *heads))
    for k, name in enumerate(names):
        cells = [pairs.get((name, other)) for other in names]
        shown.add_row(name, str(k + 1), *(f"{c.points:g}/{c.games}" if c else "-" for c in cells))
    out().print(shown)


# ---- tree ----


def tree(path: Path, filters: Filters, moves: str, depth: int, least: int, load: Sequence[Path], as_json: bool) -> None:
    prepare(load)
    name = filters.pop("game", None)
    if name is None:
        raise BadParameter("name a game, as in --game connect_four")
    state = position(make(name), moves)
    with _open(path) as store:
        branches = list(_branches(store, state, filters, depth, least, 0))
    if as_json:
        print_json({"rules": str(state.game), "history": [m.name for m in state.history], "moves": _nested(branches)})
        return
    game, console = state.game, out()
    after = f"  after {words.line(state.history, 20)}" if state.history else ""
    console.print(Text.assemble((game.title, "bold"), (after, "dim")))
    if not branches:
        console.print(Text(f"no game of {game} in '{path}' continues from here", "dim"))
        return
    seats = [game.seat_name(seat) for seat in range(game.seats)]
    heads = ("mean score",) if game.seats == 1 else (*(f"{seat} wins" for seat in seats), "draws")
    shown = table("move", "games", "share", *heads, right=("games", "share", *heads))
    for level, total, move, branch in branches:
        rates = [branch.games and n / branch.games for n in (*branch.wins, branch.draws[0])]
        row = (
            [words.number(round(branch.scores[0], 2))] if game.seats == 1 else [f"{100 * rate:.1f} %" for rate in rates]
        )
        shown.add_row(
            Text("  " * level + move, "bold" if level == 0 else ""),
            f"{branch.games:,}",
            f"{100 * branch.games / total:.1f} %",
            *row,
        )
    console.print(shown)


def _branches(
    store: Store, state: State, filters: Filters, depth: int, least: int, level: int
) -> Iterator[tuple[int, int, str, Branch]]:
    """(level, games of the position, move, results); the replies to a move follow it."""
    found = store.tree(str(state.game), state.history, **filters)
    total = sum(branch.games for branch in found)
    legal = {int(move): move.name for move in state.legal_moves}
    for branch in found:
        if branch.games >= least:
            if branch.move not in legal:
                raise MeijinError(f"games database '{store.path}': move {branch.move} is not legal after {state.text}")
            yield level, total, legal[branch.move], branch
            if depth > 1:
                state.play(branch.move)
                yield from _branches(store, state, filters, depth - 1, least, level + 1)
                state.undo()


def _nested(branches: Sequence[tuple[int, int, str, Branch]]) -> list[dict[str, Any]]:
    roots: list[dict[str, Any]] = []
    open_: list[list[dict[str, Any]]] = [roots]  # [level] -> where its moves go
    for level, _, move, branch in branches:
        said = {"move": move, "games": branch.games, "wins": branch.wins, "draws": branch.draws[0]}
        node: dict[str, Any] = {**said, "scores": branch.scores, "replies": []}
        open_[level].append(node)
        open_[level + 1 :] = [node["replies"]]
    return roots


# ---- in and out ----


def export(path: Path, filters: Filters, file: str, format_: str | None, load: Sequence[Path], as_json: bool) -> None:
    prepare(load)
    if file == "-" and format_ is None:
        raise BadParameter(f"'-': name a format with --format: {', '.join(formats.FORMATS)}")
    with _open(path) as store:
        if not store.count(**filters):  # instead of replacing a file by an empty one
            raise BadParameter(_none(path))
        if file == "-":
            formats.write_to(store.games(**filters), sys.stdout, format_ or "")
            return
        with busy(f"writing {file}"):
            count = interruptible(lambda: formats.write(store.games(**filters), file, format_))
    if as_json:
        print_json({"file": file, "games": count})
    else:
        out().print(Text(f"{count:,} games written to {file}"))


def import_(
    path: Path, files: Sequence[Path], format_: str | None, event: str | None, load: Sequence[Path], as_json: bool
) -> None:
    prepare(load)
    read = 0

    def records() -> Iterator[GameRecord]:
        nonlocal read
        for file in files:
            for record in formats.under(event or file.stem, formats.read(file, format_)):
                read += 1
                yield record

    with busy("replaying the games"):  # all of them, before the database is written
        packed = interruptible(lambda: [EncodedRecord(record) for record in records()])
    with Store(path) as store:
        new = store.add(packed)
    if as_json:
        print_json({"database": str(path), "read": read, "new": new})
    else:
        known = f", {read - new:,} were stored before" if read > new else ""
        out().print(Text(f"{new:,} of {read:,} games stored in {path}{known}"))
