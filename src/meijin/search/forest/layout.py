"""The memory of a forest: many trees side by side, each a row of every array.

A node is a position that was evaluated, or one where chance moves. Its edges, one per move or outcome, are side by side
in the tree's pool. An edge knows its visits and the sum of their value vectors, one entry per seat, whoever's turn it
is. Values are scaled to [-1, 1] (see `scale`). Law: a child's index is above its parent's, and so are its edges'.

An edge is proven when it ends the game, or leads to a node whose mover has a proven edge with the highest score there
is, or where all edges are proven: then its mean is exact from there on, and simulations turn back at it. With more
than two seats a choice that is the same to its mover but not to the others proves nothing.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from meijin.core.records import Record

NONE = -1  # no child yet
ASKED = -2  # no child yet, but the net has been asked about it: see `leaves`


def node_dtype() -> np.dtype[Any]:
    fields = [
        ("first", "i4"),  # its first edge
        ("count", "i4"),  # its edges
        ("visits", "i4"),  # simulations that went on from here: the sum of its edges' visits
        ("turn", "i4"),
        ("value", "f4"),  # what the net says the mover can expect; of chance: where its outcomes begin, see `by_odds`
        ("mark", "i4"),  # simulations under way below it, see `leaves`; its new place while the tree is rerooted
    ]
    return np.dtype((Record, np.dtype(fields, align=True)))


def edge_dtype(seats: int) -> np.dtype[Any]:
    fields = [
        ("total", "f4", (seats,)),  # sum of the values of every visit, [seat]
        ("prior", "f4"),  # of a chance outcome: its probability
        ("logit", "f4"),  # of a move: the logarithm of what the net says, before any noise
        ("visits", "i4"),
        ("child", "i4"),  # node, NONE or ASKED
        ("move", "i4"),
        ("proven", "i4"),  # 1: its mean is what best play gives, exactly
    ]
    return np.dtype((Record, np.dtype(fields, align=True)))


# Slots of a tree's `info` (int32).
NODES = 0  # nodes in use
EDGES = 1  # edges in use
DEPTH = 2  # edges on the path of the simulation under way
WAITS = 3  # 1: the net has been asked about the position in `here`
STORED = 4  # 1: that position gets a node
DONE = 5  # simulations since the root was set
TARGET = 6  # simulations wanted of this root
READY = 7  # 1: the root's noise has been drawn
FULL = 8  # 1: a full search, whose policy is worth learning
PLY = 9  # moves made in this game by seats
SLOT = 10  # positions written so far: the next goes to slot SLOT % slots
BEGAN = 11  # the value of SLOT when the game began
PLAYS_ON = 12  # 1: in this game no seat may resign
SURE = 13  # the seat that would have resigned in it, or -1
DEEPEST = 14  # edges on the longest path since the root was set
PROVEN = 15  # 1: the root's value is exact
RIVAL = 16  # the seat that a past net plays in this game, or -1
PAST = 17  # 1: the root is that seat's to move, so the past net is asked
INFO_SIZE = 18

# Slots of `options` (float64), which may change from call to call.
C = 0  # PUCT's exploration
FPU = 1  # how much less than its parent an unvisited move is worth
ALPHA = 2  # of the Dirichlet noise; 0: none
NOISE = 3  # its weight
FORCED = 4  # KataGo's k of forced playouts at the root; 0: none
VISIT_SCALE = 5  # Gumbel's c_visit
VALUE_SCALE = 6  # Gumbel's c_scale
CONSIDERED = 7  # Gumbel: moves considered at the root
FULL_SIMULATIONS = 8
FAST_SIMULATIONS = 9  # of the searches that playout-cap randomisation makes short
FULL_SHARE = 10  # share of the searches that are full
TEMPERATURE = 11  # of the choice of moves, up to ply WARM
WARM = 12
COOL = 13  # the temperature from there on; 0: the best move
RANDOM_SHARE = 14  # share of the games that begin with random plies
RANDOM_PLIES = 15  # at most this many random plies
CAP = 16  # plies by seats after which a game is cut short; 0: never
RESIGN = 17  # value below which a seat resigns; -1 or less: never
RESIGN_PLAY_ON = 18  # share of the games in which no seat may resign, to see whether it was right
REUSE = 19  # 1: keep the tree below the move that was made
GUMBEL_SCALE = 20  # of the noise at the root: 1 to explore, 0 to play at one's best
FREE_SIMULATIONS = 21  # simulations in one step that may end without a question for the net
HURRY = 22  # 1: a root that is proven moves at once
RIVALS = 23  # this many trees, the first ones, play against a past net
NET = 24  # the number of the net that answers, which is kept with every position
LEAVES = 25  # the most leaves of a tree that the net is asked about at once
DRAW = 26  # what a draw is worth to every seat
FRESH = 27  # 1: simulations of a tree that was kept come on top
OPTIONS_SIZE = 28

# Slots of `stats` (int64), one row per tree.
GAMES = 0  # finished games
PLIES = 1  # moves made in them by seats
SIMULATIONS = 2
EVALUATIONS = 3  # positions that the net saw
RESIGNED = 4  # games that a seat resigned
CUT = 5  # games cut short at the cap
DOUBTED = 6  # games played on in which a seat would have resigned
WRONGED = 7  # and did not lose
LOST = 8  # finished positions overwritten before they were taken
FAULT = 9  # 1 + a plane that is not what its packing says
RIVAL_GAMES = 10  # games against a past net
RIVAL_POINTS = 11  # what the others made in them, in halves: 2 where the past net was beaten, 1 for a draw
STATS_SIZE = 12

# States of a position in the record.
EMPTY, PENDING, FINISHED = 0, 1, 2

# Slots of `asked`: info's WAITS, DEPTH and STORED of each leaf, where a tree asks about several at once.
LEAF_WAITS, LEAF_DEPTH, LEAF_STORED, ASKED_SIZE = 0, 1, 2, 3

# How a plane is packed: one bit per cell, one number for all cells, or one number per cell.
BITS, FLAT, WHOLE = 0, 1, 2


class Arrays(NamedTuple):
    """All arrays of a forest; the first axis is the tree, unless it says otherwise.

    Leaves are numbered tree by tree: leaf j of tree i is `i * leaves + j`.
    """

    roots: Any  # records: the position at the root
    here: Any  # records [leaf]: the position where the latest simulation ended
    root_words: Any  # uint64 [tree, word]: the same memory as `roots`
    here_words: Any  # and as `here`
    nodes: Any  # [tree, node]
    edges: Any  # [tree, edge]
    info: Any  # int32 [tree, slot]
    path: Any  # int32 [leaf, depth, 2]: node and edge
    asked: Any  # int32 [leaf, slot]
    moves: Any  # int32 [tree, branching]
    probs: Any  # float64 [tree, branching]
    scores: Any  # float64 [tree, seat]
    values: Any  # float64 [tree, seat]
    bounds: Any  # float64 [tree, seat, 2]: lowest and highest value seen
    weights: Any  # float64 [tree, branching]
    noise: Any  # float32 [tree, branching]: Gumbel variates of the root's moves
    rng: Any  # uint64 [tree, 1]
    stats: Any  # int64 [tree, slot]
    sums: Any  # float64 [tree, seat]: of the outcomes of finished games, scaled
    table: Any  # int32 [considered, simulation], shared: see `halving_table`
    options: Any  # float64 [slot], shared
    # what the net sees and says
    x: Any  # float32 [leaf, plane, cell]
    logits: Any  # float32 [leaf, move]
    outlook: Any  # float32 [leaf, seat], the mover's first
    # the record of self-play; one slot per position
    bits: Any  # uint8 [tree, slot, byte]
    numbers: Any  # float32 [tree, slot, number]
    kept_moves: Any  # int16 [tree, slot, branching], as the mover sees them; -1 where there is none
    kept_probs: Any  # float32 [tree, slot, branching]
    kept_roots: Any  # float32 [tree, slot, seat]: the search's value
    surprise: Any  # float32 [tree, slot]: how far the search's policy is from the net's, as KL divergence in nats
    outcomes: Any  # float32 [tree, slot, seat]
    facts: Any  # int32 [tree, slot, 6]: state, mover, ply, length of the game, where its owners are, and the net
    owners: Any  # int8 [tree, slot, cell]: who owns each cell in the end, in the slot of a game's last position only


def with_records(arrays: dict[str, Any], dtype: np.dtype[Any]) -> dict[str, Any]:
    """The arrays, and those of the words of positions once more as records."""
    shared = {name: arrays[words].view(dtype) for name, words in (("roots", "root_words"), ("here", "here_words"))}
    return {**arrays, **{name: array.reshape(len(array)) for name, array in shared.items()}}


# Slots of `facts`.
STATE, MOVER, WHEN, LENGTH = 0, 1, 2, 3
LAST = 4  # the slot of the game's last position; -1 where it is not known who owns what
PLAYED_BY = 5  # the number of the net that played it
FACTS_SIZE = 6
