"""Counting a game of Go: margins, and which stones are dead, which the rules leave to the players."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from meijin.core.compile import Function
from meijin.core.errors import BadParameter
from meijin.core.game import Game
from meijin.core.kernels import copy
from meijin.core.rng import stream
from meijin.core.state import State
from meijin.games._go_board import BLACK, EMPTY, WHITE, longest_game, stones_of


def margin(state: State) -> float:
    """By how many points black leads, komi included, if all stones on the board are alive; below 0 white leads."""
    return final_score(state)


def final_score(state: State, dead: Iterable[int] = ()) -> float:
    """By how many points black leads, komi included, once the stones on the cells `dead` are taken off.

    A region of empty points belongs to the colour that alone borders on it. With territory scoring dead stones count
    twice, as prisoners and as the points they stood on.
    """
    stones_of(state.game)
    params, board, cells = state.game.params, state.game.board, list(state.cells)
    lead = -params["komi"]
    by_area = params["scoring"] == "area"
    if by_area:
        lead -= params["handicap"]
    else:
        lead += int(state.record.prisoners[0]) - int(state.record.prisoners[1])
    for cell in set(dead):
        if not 0 <= cell < len(cells) or cells[cell] == EMPTY:
            raise BadParameter(f"dead={cell}: there is no stone; give the cells of stones")
        if not by_area:
            lead += 1 if cells[cell] == WHITE else -1
        cells[cell] = EMPTY
    counted: set[int] = set()
    for cell, color in enumerate(cells):
        if color != EMPTY:
            lead += (color == BLACK) - (color == WHITE) if by_area else 0
        elif cell not in counted:
            region, touched = {cell}, set()
            waiting = [cell]
            while waiting:
                for near in board.neighbours[waiting.pop()]:
                    if cells[near] != EMPTY:
                        touched.add(cells[near])
                    elif near not in region:
                        region.add(near)
                        waiting.append(near)
            counted |= region
            lead += len(region) * ((touched == {BLACK}) - (touched == {WHITE}))
    return float(lead)


def dead_stones(state: State, playouts: int = 1000, seed: int = 0, *, share: float = 0.65) -> tuple[int, ...]:
    """The cells of groups that most likely cannot be saved: in that share of random playouts the enemy got them.

    Players that fill no eyes of their own play on to the end, each side first in turn. This is a judgement for games
    that are over but for the taking of dead stones; it reads nothing out, so a clever seki may fool it.
    """
    if playouts < 1:
        raise BadParameter(f"playouts={playouts}: must be at least 1")
    game, cells = state.game, state.cells
    owners = np.zeros((len(cells), 2), np.int64)
    states = game.states(2)
    states[0] = state.record
    game.kernel(ownership)(states, playouts, stream(seed), owners)
    found: list[int] = []
    seen: set[int] = set()
    for cell, color in enumerate(cells):
        if color == EMPTY or cell in seen:
            continue
        group, waiting = {cell}, [cell]
        while waiting:
            for near in game.board.neighbours[waiting.pop()]:
                if cells[near] == color and near not in group:
                    group.add(near)
                    waiting.append(near)
        seen |= group
        if sum(int(owners[c, WHITE - color]) for c in group) >= share * playouts * len(group):
            found += group
    return tuple(sorted(found))


def ownership(game: Game) -> Function:
    """`kernel(states, playouts, rng, owners)`: play on from `states[0]` in `states[1]` and count who gets each cell."""
    on, cells, longest = stones_of(game), len(game.board.cells), longest_game(game.params["size"])
    point, begin, follow, place, draw, settle = on.point, on.begin, on.follow, on.place, on.draw_sensible, on.settle

    def kernel(states: Any, playouts: int, rng: Any, owners: Any) -> None:
        # owners: [cell, seat]
        s = states[1]
        for number in range(playouts):
            copy(states[1:2], states[0:1])
            begin(s)  # the game may have used up all its plies
            me = BLACK + number % 2
            passes = 0
            while passes < 2 and s.ply < longest:
                p = draw(s, me, rng)
                if p == 0:
                    passes += 1
                    s.ko = 0
                else:
                    passes = 0
                    place(s, p, me)
                follow(s)
                me = 3 - me
            settle(s)
            for cell in range(cells):
                p = np.uint64(point[cell])
                color = s.color[p] if s.color[p] != EMPTY else s.next[p]
                if color in (BLACK, WHITE):
                    owners[cell, color - BLACK] += 1

    return kernel
