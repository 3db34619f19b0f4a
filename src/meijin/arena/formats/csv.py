"""Comma-separated values: one row per move, for spreadsheets and statistics. They are written and not read.

    event,number,game,position,ply,seat,agent,move,value,seconds,score
    cup,0,tic_tac_toe,,1,0,random,b2,0.25,0.1,-1.0

`position` is where the game began, empty if at the start. `value` is what the agent expected for the mover, `score`
what the mover got in the end. Moves of chance have neither, and no seat and no agent.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable
from typing import TextIO

from meijin.arena.formats.common import Steppers
from meijin.arena.record import GameRecord, MoveNote

SUFFIXES = (".csv",)
COLUMNS = ("event", "number", "game", "position", "ply", "seat", "agent", "move", "value", "seconds", "score")

read = None  # a table lacks what a record needs, such as limits, seeds and how the game ended


def write(records: Iterable[GameRecord], file: TextIO) -> int:
    rows = csv.writer(file, lineterminator="\n")
    rows.writerow(COLUMNS)
    steppers, count = Steppers(), 0
    for record in records:
        task = record.task
        steps = steppers.replay(record)[1]
        notes = record.notes or (MoveNote(),) * len(steps)
        for ply, ((seat, move), note) in enumerate(zip(steps, notes, strict=True), 1):
            who: tuple[object, ...] = (None, None)
            value = score = None
            if seat >= 0:
                who, score = (seat, task.agents[seat]), record.scores[seat]
                value = None if note.value is None else note.value[seat]
            rows.writerow(
                (task.event, task.number, task.game, task.position, ply, *who, move.name, value, note.seconds, score)
            )
        count += 1
    return count
