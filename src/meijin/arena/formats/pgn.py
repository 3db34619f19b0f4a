"""Headers and movetext like PGN's, for any game.

    [Event "cup"]
    [Round "1.3"]
    [Game "connect_four"]
    [Seat0 "mcts(simulations=100)"]
    [Seat1 "random"]
    [Result "1-0"]
    [Scores "1.0 -1.0"]
    [Ending "rules"]

    1. 4 {[%emt 0.12] [%value 0.31 -0.31]} 4 2. 3 ... 1-0

Header values are JSON strings. Moves have the game's own names; chance outcomes stand among them. Times (seconds) and
values (one per seat) are kept, whole analyses are not. A game that began from a set-up position has [SetUp "1"] and, as
[FEN "..."], that position in the form of its game.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any, TextIO

from meijin.arena.formats.common import Draft, Ply, RecordFile, Steppers, finish, line_numbers
from meijin.arena.formats.header import describe, number, to_json
from meijin.arena.record import GameRecord, MoveNote
from meijin.core import config
from meijin.core.errors import BadParameter

SUFFIXES = (".pgn",)
WIDTH = 100
RESULTS = ("1-0", "0-1", "1/2-1/2", "*")

_TOKEN = re.compile(r"\s*(?:(?P<tag>^\[.*)|\{(?P<comment>[^}]*)\}|(?P<open>\{)|(?P<word>[^\s{]+))", re.MULTILINE)
_TAG = re.compile(r'\[\s*([A-Za-z][A-Za-z0-9_]*)\s+("(?:[^"\\]|\\.)*")\s*\]\s*')
#: Header -> field, for values that are plain text.
_TEXTS = {"Event": "event", "Game": "game", "FEN": "position", "Ending": "ending", "Reason": "reason", "Began": "began"}
#: Header -> field, for values that are JSON.
_VALUES = {
    "Number": "number",
    "Round": "round",
    "Seed": "seed",
    "Opening": "opening",
    "Forfeit": "forfeit",
    "Seconds": "seconds",
    "Limits": "limits",
    "Headers": "headers",
}


def write(records: Iterable[GameRecord], file: TextIO) -> int:
    steppers, count = Steppers(), 0
    for record in records:
        words = _movetext(record, [move.name for _, move in steppers.replay(record)[1]])
        file.write("\n".join([*_tags(record), "", *_wrapped(words), "", ""]))
        count += 1
    return count


def _tags(record: GameRecord) -> list[str]:
    said = describe(record)
    tags = {"Event": said.get("event", ""), "Date": record.began[:10].replace("-", ".") or "????.??.??"}
    tags |= {"Game": said["game"]} | {f"Seat{seat}": agent for seat, agent in enumerate(record.task.agents)}
    if record.task.position:
        tags |= {"SetUp": "1", "FEN": record.task.position}
    tags |= {"Result": result(record), "Scores": " ".join(str(number(score)) for score in record.scores)}
    tags |= {name: said[field] for name, field in _TEXTS.items() if field in said}
    tags |= {name: to_json(said[field]) for name, field in _VALUES.items() if field in said}
    return [f"[{name} {to_json(text)}]" for name, text in tags.items()]


def result(record: GameRecord) -> str:
    if len(record.scores) != 2:
        return "*"
    first, second = record.scores
    return "1/2-1/2" if first == second else "1-0" if first > second else "0-1"


def _movetext(record: GameRecord, names: list[str]) -> list[str]:
    words = []
    notes = record.notes or (None,) * len(names)
    pace = 2 if len(record.scores) == 2 else 1  # moves with one number
    for ply, (name, note) in enumerate(zip(names, notes, strict=True)):
        if ply % pace == 0:
            words.append(f"{ply // pace + 1}.")
        words.append(name)
        if note is not None:
            words.append(_comment(note))
    return [*words, result(record)]


def _comment(note: MoveNote) -> str:
    parts = []
    if note.seconds is not None:
        parts.append(f"[%emt {note.seconds!r}]")
    if note.value is not None:
        parts.append(f"[%value {' '.join(map(repr, note.value))}]")
    return "{" + " ".join(parts) + "}"


def _wrapped(words: list[str]) -> Iterator[str]:
    row = ""
    for word in words:
        if row and len(row) + 1 + len(word) > WIDTH:
            yield row
            row = word
        else:
            row = f"{row} {word}" if row else word
    yield row


# ---- reading ----


def read(source: RecordFile) -> Iterator[GameRecord]:
    steppers = Steppers()
    text = source.text()
    line_at = line_numbers(text)
    draft: Draft | None = None
    ended = True  # the latest game
    for token in _TOKEN.finditer(text):
        kind, line = str(token.lastgroup), line_at(token.start(str(token.lastgroup)))
        if kind == "tag":
            if draft is None or ended:
                draft, ended, moving = Draft(line, {}), False, False
            if moving:
                source.fail(line, f"headers before the result of the game that begins in line {draft.line}")
            _header(draft.fields, token["tag"], line, source)
        elif draft is None or ended:
            source.fail(line, f"moves without headers before them: {token[0].strip()[:30]!r}")
        elif kind == "open":
            source.fail(line, "a comment that does not end")
        elif kind == "comment":
            _note(draft, token["comment"], line, source)
        elif token["word"] in RESULTS:
            yield finish(_completed(draft, token["word"], source), source, steppers)
            ended = True
        else:
            moving = True
            if move := re.sub(r"^\d+\.+", "", token["word"]):
                draft.plies.append(Ply(move, line))
    if draft is None:
        source.fail(1, 'no game found; one begins with headers, such as [Game "othello"]')
    if not ended:
        source.fail(draft.line, "the file ends within the game that begins here")


def _note(draft: Draft, text: str, line: int, source: RecordFile) -> None:
    if not draft.plies:
        return  # a comment before the first move
    draft.noted = True
    marks = dict(re.findall(r"\[%(\w+)\s+([^\]]*)\]", text))
    try:
        draft.plies[-1].note = MoveNote(
            float(marks["emt"]) if "emt" in marks else None,
            tuple(map(float, marks["value"].split())) if "value" in marks else None,
        )
    except ValueError as error:
        source.fail(line, f"comment {text[:40]!r}: {error}")


def _header(said: dict[str, Any], text: str, line: int, source: RecordFile) -> None:
    tag = _TAG.fullmatch(text)
    if tag is None:
        source.fail(line, f'not a header: {text[:40]!r}; one is [Name "value"]')
    if tag[1] in said:
        source.fail(line, f"{tag[1]} is given twice")
    with source.at(line, f"{tag[1]}: "):
        said[tag[1]] = config.decode(tag[2])


def _completed(draft: Draft, written: str, source: RecordFile) -> Draft:
    """The draft with its headers as fields. Headers of other programs are kept for people."""
    tags, said, other = draft.fields, {}, {}
    seats: dict[int, str] = {}
    for name, value in tags.items():
        if name in _TEXTS:
            said[_TEXTS[name]] = value
        elif name in _VALUES:
            with source.at(draft.line, f"{name}: "):
                said[_VALUES[name]] = config.decode(value)
        elif name == "Scores":
            with source.at(draft.line, "Scores: "):
                said["scores"] = [_score(word) for word in value.split()]
        elif re.fullmatch(r"Seat\d{1,2}", name):
            seats[int(name[4:])] = value
        elif name not in ("Result", "Date", "SetUp"):
            other[name] = value
    if tags.get("Result", written) != written:
        source.fail(draft.line, f"Result is {tags['Result']}, but the moves end with {written}")
    if sorted(seats) != list(range(len(seats))):
        source.fail(draft.line, f"there are headers for the seats {sorted(seats)}; they are counted from 0")
    said["agents"] = [seats[seat] for seat in sorted(seats)]
    if other:
        said["headers"] = {**other, **said.get("headers", {})} if isinstance(said.get("headers", {}), dict) else other
    draft.fields = said
    return draft


def _score(word: str) -> float | str:
    try:
        return number(float(word))
    except ValueError:
        raise BadParameter(f"'{word[:30]}' is not a number") from None
