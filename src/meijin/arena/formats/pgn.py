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
values (one per seat) are kept, whole analyses are not.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any, TextIO

from meijin.arena.formats.common import Draft, Ply, RecordFile, Steppers, finish
from meijin.arena.formats.header import describe, number, to_json
from meijin.arena.record import GameRecord, MoveNote
from meijin.core import config

SUFFIXES = (".pgn",)
WIDTH = 100
RESULTS = ("1-0", "0-1", "1/2-1/2", "*")

_TAG = re.compile(r'\[\s*([A-Za-z][A-Za-z0-9_]*)\s+("(?:[^"\\]|\\.)*")\s*\]\s*')
#: Header -> field, for those whose value is a text as it is.
_TEXTS = {"Event": "event", "Game": "game", "Ending": "ending", "Reason": "reason", "Began": "began"}
#: Header -> field, for those whose value is JSON inside the text.
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
    for draft in _drafts(source):
        yield finish(draft, source, steppers)


def _drafts(source: RecordFile) -> Iterator[Draft]:
    draft, began_moves, open_comment = Draft(1, {}), False, 0
    words = _Words(source)
    found = False
    for number_, text in source.lines():
        if text.startswith("[") and not open_comment:
            if began_moves:
                source.fail(number_, f"headers before the result of the game that begins in line {draft.line}")
            if not draft.fields:
                draft.line = number_
            _header(draft.fields, text, number_, source)
            continue
        if not text.strip() and not open_comment:
            continue
        if not draft.fields:
            source.fail(number_, f"moves without headers before them: {text.strip()[:30]!r}")
        began_moves = True
        ended, open_comment = words.take(text, number_, draft, open_comment)
        if ended:
            yield _completed(draft, source)
            draft, began_moves, found = Draft(number_ + 1, {}), False, True
    if draft.fields:
        source.fail(draft.line, "the file ends within the game that begins here")
    if not found:
        source.fail(1, 'no game found; one begins with headers, such as [Game "othello"]')


class _Words:
    """Movetext, word by word."""

    def __init__(self, source: RecordFile):
        self.source = source
        self.comment: list[str] = []

    def take(self, text: str, line: int, draft: Draft, open_comment: int) -> tuple[bool, int]:
        """Read a line; whether the game has ended, and the line of a comment that is still open (0: none)."""
        at = 0
        while at < len(text):
            if open_comment:
                end = text.find("}", at)
                self.comment.append(text[at:] if end < 0 else text[at:end])
                if end < 0:
                    return False, open_comment
                self._note(" ".join(self.comment), line, draft)
                self.comment, open_comment, at = [], 0, end + 1
            elif text[at].isspace():
                at += 1
            elif text[at] == "{":
                open_comment, at = line, at + 1
            else:
                word = re.compile(r"[^\s{]+").match(text, at)
                assert word is not None
                at = word.end()
                if word[0] in RESULTS:
                    if text[at:].strip():
                        self.source.fail(line, f"text after the result: {text[at:].strip()[:30]!r}")
                    draft.fields.setdefault("result", word[0])
                    return True, 0
                if not re.fullmatch(r"\d+\.+", word[0]):
                    draft.plies.append(Ply(re.sub(r"^\d+\.+(?=.)", "", word[0]), line))
        return False, open_comment

    def _note(self, text: str, line: int, draft: Draft) -> None:
        if not draft.plies:
            return  # a remark before the first move
        draft.noted = True
        marks = dict(re.findall(r"\[%(\w+)\s+([^\]]*)\]", text))
        try:
            draft.plies[-1].note = MoveNote(
                float(marks["emt"]) if "emt" in marks else None,
                tuple(map(float, marks["value"].split())) if "value" in marks else None,
            )
        except ValueError as error:
            self.source.fail(line, f"comment {text[:40]!r}: {error}")


def _header(said: dict[str, Any], text: str, line: int, source: RecordFile) -> None:
    tag = _TAG.fullmatch(text)
    if tag is None:
        source.fail(line, f'not a header: {text[:40]!r}; one is [Name "value"]')
    if tag[1] in said:
        source.fail(line, f"{tag[1]} is given twice")
    with source.at(line, f"{tag[1]}: "):
        said[tag[1]] = config.decode(tag[2])


def _completed(draft: Draft, source: RecordFile) -> Draft:
    """The draft with its headers as fields. Headers that are none of ours are kept for people."""
    tags, said, other = draft.fields, {}, {}
    seats: dict[int, str] = {}
    written = tags.pop("result")
    for name, value in tags.items():
        if name in _TEXTS:
            said[_TEXTS[name]] = value
        elif name in _VALUES:
            with source.at(draft.line, f"{name}: "):
                said[_VALUES[name]] = config.decode(value)
        elif name == "Scores":
            said["scores"] = [_score(word, draft, source) for word in value.split()]
        elif re.fullmatch(r"Seat\d{1,2}", name):
            seats[int(name[4:])] = value
        elif name not in ("Result", "Date"):
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


def _score(word: str, draft: Draft, source: RecordFile) -> float | str:
    try:
        return number(float(word))
    except ValueError:
        source.fail(draft.line, f"Scores: '{word[:30]}' is not a number")
