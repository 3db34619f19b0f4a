"""What the kernels of temporal-difference learning work with: the rule to follow, and one thread's memory."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from meijin.core.game import Game

TD, SARSA, Q = range(3)
NONE, ID, EXP = range(3)  # kinds of temporal coherence
ACCUMULATING, REPLACING, DELAYED = range(3)  # kinds of traces
KEPT = 20  # positions that later games can begin at
GONE = np.uint64(2**64 - 1)  # in `past`, instead of a weight whose trace was replaced


class Rule(NamedTuple):
    """How to play and to learn; numbers only, so that one kernel does for all."""

    kind: int  # TD, SARSA or Q
    learns: int  # 0: play only
    squashes: int  # 1: values go through tanh
    coherence: int  # NONE, ID or EXP
    alpha: float  # step size of one weight
    beta: float
    trace: float  # lambda
    traces: int  # ACCUMULATING, REPLACING or DELAYED
    group: int  # so many features in a row share a table
    gamma: float
    epsilon: float
    final: int  # 1: every seat learns the final score
    learn_random: int  # 1: TD learns across random moves
    random_plies: int
    first_moves: int  # 1: games begin with every first move in turn
    restarts: float  # share of games that begin at a kept position
    every: int  # moves between those
    replay: int  # remembered moves that are learned again after each move
    cap: int  # moves of a game


class Room(NamedTuple):
    """One thread's memory. A weight is a row of the table: column 0 is its value, columns 1 and 2 its coherence."""

    states: Any  # records [2]: the game, and the position after a move
    moves: Any  # int32 [branching]
    probs: Any  # float64 [branching]
    scores: Any  # float64 [seat]
    base: Any  # int32 [cell]: the cells before a move
    next: Any  # int32 [cell]: and after it
    changed: Any  # int32 [cell]: those that differ, first
    # the position
    now: Any  # int32 [feature]: its indices
    held: Any  # float64 [feature]: its weights, once somebody needed them
    known: Any  # float64 [2]: 1 and their sum
    # its moves
    values: Any  # float64 [branching]
    at: Any  # int64 [branching]: where the weights begin
    so_far: Any  # float64 [branching]: score
    count: Any  # int32 [branching]: features whose index changes; ALL: all are listed; ENDS: the game is over
    touched: Any  # int32 [branching, feature]: which these are
    tried: Any  # int32 [branching, feature]: and their indices after the move
    marks: Any  # int64 [feature + 1]: where in the list a feature is; the last: marks below it are old
    # learning
    best: Any  # uint64 [feature]: the weights after the best move, from the beginning of the table
    past: Any  # uint64 [seat, reach, feature]: the weights of positions that an error reaches
    slopes: Any  # float64 [seat, reach]: of the output there
    owed: Any  # float64 [seat, reach]: with delayed traces, the errors that have reached it so far
    length: Any  # int64 [seat]: how many there are
    spoilt: Any  # int64 [seat]: 1 after a random move of another seat
    earlier: Any  # float64 [seat]: its score in the latest of them
    memory: Any  # uint64 [size, 2, feature]: the weights of positions and of those that followed
    facts: Any  # float64 [size, 2]: what was scored on the way, and 1 if the game went on
    filled: Any  # int64 [4]: how many of these there are, the place of the next, games begun, positions kept
    kept: Any  # records [KEPT]: where the latest game to get there was after `Rule.every` moves, twice as many, ...
    rng: Any  # uint64 [1]
    totals: Any  # float64 [seat + 2]: sums of final scores, of squared errors, and the number of errors


ALL, ENDS = -1, -2


def make_room(
    game: Game, features: int, reach: int, memory: int, rng: NDArray[np.uint64], zeros: Any = np.zeros
) -> Room:
    """One thread's memory. `zeros`: what makes its arrays, or `sizes.nbytes` to learn how large they would be."""
    cells, width, seats = len(game.board.cells), game.branching or 1, game.seats
    return Room(
        states=game.states(2),
        moves=zeros(width, np.int32),
        probs=zeros(width, np.float64),
        scores=zeros(seats),
        base=zeros(cells, np.int32),
        next=zeros(cells, np.int32),
        changed=zeros(cells, np.int32),
        now=zeros(features, np.int32),
        held=zeros(features),
        known=zeros(2),
        values=zeros(width),
        at=zeros(width, np.int64),
        so_far=zeros(width),
        count=zeros(width, np.int32),
        touched=zeros((width, features), np.int32),
        tried=zeros((width, features), np.int32),
        marks=zeros(features + 1, np.int64),
        best=zeros(features, np.uint64),
        past=zeros((seats, reach, features), np.uint64),
        slopes=zeros((seats, reach)),
        owed=zeros((seats, reach)),
        length=zeros(seats, np.int64),
        spoilt=zeros(seats, np.int64),
        earlier=zeros(seats),
        memory=zeros((max(1, memory), 2, features), np.uint64),
        facts=zeros((max(1, memory), 2)),
        filled=zeros(4, np.int64),
        kept=game.states(KEPT),
        rng=rng,
        totals=zeros(seats + 2),
    )


def scale(game: Game) -> tuple[float, float]:
    """(middle, half the width) of the scores; networks learn scores between -1 and 1 where there are bounds."""
    low, high = game.score_range
    return ((low + high) / 2, (high - low) / 2) if game.bounded else (0.0, 1.0)
