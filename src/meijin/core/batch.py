"""Many games at once: `simulate` plays random games, `States` steps thousands of positions together.

Both run the compiled rules on threads of the CPU or on a GPU, from one source: a function of one position's entries,
which a CPU kernel calls in a loop and a CUDA kernel in one thread per position.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from meijin.core.catalogue import game_of
from meijin.core.compile import Function, inlined
from meijin.core.errors import IllegalMove
from meijin.core.game import OVER, Game
from meijin.core.kernels import no_odds, playout
from meijin.core.options import among, between
from meijin.core.rng import below, choose, streams
from meijin.core.tables import frame, html

DEVICES = ("cpu", "cuda")


class Batch(NamedTuple):
    """The arrays of many positions; the first axis is the position."""

    states: Any  # records
    moves: Any  # int32: what is played next
    turns: Any  # int32: the seat to move
    over: Any  # int8: 1 where the latest step ended a game
    scores: Any  # float64 [position, seat]: of the game that ended last
    plies: Any  # int32: of the game under way
    lengths: Any  # int32: of the game that ended last
    mask: Any  # int8 [position, move]: 1 for a legal move
    legal: Any  # int32 [position, branching]: the same as a list
    counts: Any  # int32: how many there are
    rngs: Any  # uint64 [position, 1]
    planes: Any  # float32 [position, plane, cell]


class Scratch(NamedTuple):
    """Room for one position at a time: one thread's on a CPU, one per position on a GPU."""

    moves: Any  # int32 [branching]
    probs: Any  # float64 [branching]
    scores: Any  # float64 [seat]
    rng: Any  # uint64 [1]


# ---- kernels: functions of one position, `(i, *batch, *scratch)` ----
#
# They never slice an array of the batch: on a CPU every such view counts a reference, in one place for all threads.


def _make_settle(game: Game) -> Function:
    """Let chance move, begin a new game where one has ended, and list the moves."""
    start, turn, list_moves, play, score = game.start, game.turn, game.legal, game.play, game.score
    odds, seats, num_moves = game.odds or no_odds, game.seats, game.num_moves

    @inlined
    def settle(
        i: int, states: Any, turns: Any, over: Any, scores: Any, plies: Any, lengths: Any, mask: Any, legal: Any,
        counts: Any, rngs: Any, listed: Any, probs: Any, final: Any, rng: Any,
    ) -> None:  # fmt: skip
        s = states[i]
        t = turn(s)
        over[i] = 0
        while t < 0:
            if t == OVER:
                over[i] = 1
                score(s, final)
                for k in range(seats):
                    scores[i, k] = final[k]
                lengths[i] = plies[i]
                plies[i] = 0
                start(s)
            else:
                n = odds(s, listed, probs)
                rng[0] = rngs[i, 0]
                play(s, listed[choose(rng, probs, n)])
                rngs[i, 0] = rng[0]
                plies[i] += 1
            t = turn(s)
        turns[i] = t
        for move in range(num_moves):
            mask[i, move] = 0
        n = list_moves(s, listed)
        counts[i] = n
        for k in range(n):
            mask[i, listed[k]] = 1
            legal[i, k] = listed[k]

    return settle


def reset(game: Game) -> Function:
    start, settle = game.start, _make_settle(game)

    @inlined
    def run(
        i: int, states: Any, moves: Any, turns: Any, over: Any, scores: Any, plies: Any, lengths: Any, mask: Any,
        legal: Any, counts: Any, rngs: Any, planes: Any, listed: Any, probs: Any, final: Any, rng: Any,
    ) -> None:  # fmt: skip
        start(states[i])
        plies[i] = 0
        settle(i, states, turns, over, scores, plies, lengths, mask, legal, counts, rngs, listed, probs, final, rng)

    return run


def step(game: Game) -> Function:
    play, settle = game.play, _make_settle(game)

    @inlined
    def run(
        i: int, states: Any, moves: Any, turns: Any, over: Any, scores: Any, plies: Any, lengths: Any, mask: Any,
        legal: Any, counts: Any, rngs: Any, planes: Any, listed: Any, probs: Any, final: Any, rng: Any,
    ) -> None:  # fmt: skip
        play(states[i], moves[i])
        plies[i] += 1
        settle(i, states, turns, over, scores, plies, lengths, mask, legal, counts, rngs, listed, probs, final, rng)

    return run


def look(game: Game) -> Function:
    """What a net sees."""
    rule = game.planes
    assert rule is not None  # Game fills in a default

    @inlined
    def run(
        i: int, states: Any, moves: Any, turns: Any, over: Any, scores: Any, plies: Any, lengths: Any, mask: Any,
        legal: Any, counts: Any, rngs: Any, planes: Any, listed: Any, probs: Any, final: Any, rng: Any,
    ) -> None:  # fmt: skip
        rule(states[i], planes[i])

    return run


def draw(game: Game) -> Function:
    """A random one of the legal moves."""

    @inlined
    def run(
        i: int, states: Any, moves: Any, turns: Any, over: Any, scores: Any, plies: Any, lengths: Any, mask: Any,
        legal: Any, counts: Any, rngs: Any, planes: Any, listed: Any, probs: Any, final: Any, rng: Any,
    ) -> None:  # fmt: skip
        rng[0] = rngs[i, 0]
        moves[i] = legal[i, below(rng, counts[i])]
        rngs[i, 0] = rng[0]

    return run


def finish(game: Game) -> Function:
    """Play a random game from the start to its end."""
    start, score, run_out, seats = game.start, game.score, playout(game), game.seats

    @inlined
    def run(
        i: int, states: Any, moves: Any, turns: Any, over: Any, scores: Any, plies: Any, lengths: Any, mask: Any,
        legal: Any, counts: Any, rngs: Any, planes: Any, listed: Any, probs: Any, final: Any, rng: Any,
    ) -> None:  # fmt: skip
        s = states[i]
        start(s)
        rng[0] = rngs[i, 0]
        lengths[i] = run_out(s, rng, listed, probs)
        rngs[i, 0] = rng[0]
        score(s, final)
        for k in range(seats):
            scores[i, k] = final[k]

    return run


@cache
def _on_cpu(maker: Callable[[Game], Function]) -> Callable[[Game], Function]:
    """The maker of the CPU kernel that does `maker`'s function for a range of positions."""

    def each(game: Game) -> Function:
        run = maker(game)

        def kernel(batch: Any, scratch: Any, first: int, end: int) -> None:
            states, moves, turns, over, scores, plies, lengths, mask, legal, counts, rngs, planes = batch
            listed, probs, final, rng = scratch
            for i in range(first, end):
                run(
                    i, states, moves, turns, over, scores, plies, lengths, mask, legal, counts, rngs, planes,
                    listed, probs, final, rng,
                )  # fmt: skip

        return kernel

    each.__name__ = f"batch-{maker.__name__}"
    return each


@cache
def _on_gpu(maker: Callable[[Game], Function]) -> Callable[[Game], Function]:
    """The maker of `(arrays, i)`, as `cuda.over` takes it; a view counts nothing there."""

    def each(game: Game) -> Function:
        run = maker(game)

        def one(arrays: Any, i: int) -> None:
            batch, scratch = arrays
            states, moves, turns, over, scores, plies, lengths, mask, legal, counts, rngs, planes = batch
            run(
                i, states, moves, turns, over, scores, plies, lengths, mask, legal, counts, rngs, planes,
                scratch.moves[i], scratch.probs[i], scratch.scores[i], scratch.rng[i],
            )  # fmt: skip

        return one

    return each


def first_illegal(game: Game) -> Function:
    """The first position whose move in `moves` is not legal, -1 if there is none."""
    num_moves = game.num_moves

    def kernel(moves: Any, mask: Any) -> int:
        for i in range(moves.shape[0]):
            if moves[i] < 0 or moves[i] >= num_moves or mask[i, moves[i]] == 0:
                return i
        return -1

    return kernel


# ---- drivers ----


class _Driver:
    """Runs those functions for all positions of a batch."""

    def __init__(self, game: Game, count: int, seed: int, threads: int | None, device: str):
        between("count", count, 1, 2**31 - 1)
        among("device", device, DEVICES)
        self.threads = min(count, os.cpu_count() or 1) if threads is None else threads
        between("threads", self.threads, 1, 1024)
        self.game, self.count, self.gpu = game, count, device == "cuda"
        self._pool: ThreadPoolExecutor | None = None
        zeros = self.zeros
        self.batch = Batch(
            states=zeros(game.dtype, count),
            moves=zeros(np.int32, count),
            turns=zeros(np.int32, count),
            over=zeros(np.int8, count),
            scores=zeros(np.float64, count, game.seats),
            plies=zeros(np.int32, count),
            lengths=zeros(np.int32, count),
            mask=zeros(np.int8, count, game.num_moves),
            legal=zeros(np.int32, count, game.branching or 1),
            counts=zeros(np.int32, count),
            rngs=self.placed(streams(seed, count)),
            planes=zeros(np.float32, 1, 1, 1),
        )
        width, odds = game.branching or 1, (game.branching or 1) if game.chance else 1
        rooms = [()] * self.threads if not self.gpu else [(count,)]
        self._scratch = [
            Scratch(zeros(np.int32, *n, width), zeros(np.float64, *n, odds), zeros(np.float64, *n, game.seats),
                    zeros(np.uint64, *n, 1))
            for n in rooms
        ]  # fmt: skip

    def zeros(self, dtype: Any, *shape: int) -> Any:
        if not self.gpu:
            return np.zeros(shape, dtype)
        from meijin.core import cuda

        return cuda.zeros(shape, dtype)

    def placed(self, array: Any) -> Any:
        """An array where the others are."""
        if not self.gpu:
            return array
        from meijin.core import cuda

        return cuda.as_device(array)

    def run(self, maker: Callable[[Game], Function]) -> None:
        if self.gpu:
            from meijin.core import cuda

            cuda.over(self.game, _on_gpu(maker), self.count, (self.batch, self._scratch[0]))
            return
        kernel = self.game.kernel(_on_cpu(maker))
        if self.threads == 1:
            kernel(self.batch, self._scratch[0], 0, self.count)
            return
        kernel(self.batch, self._scratch[0], 0, 0)  # compile once, here
        self._pool = self._pool or ThreadPoolExecutor(self.threads)
        ends = [self.count * k // self.threads for k in range(self.threads + 1)]
        list(self._pool.map(lambda k: kernel(self.batch, self._scratch[k], ends[k], ends[k + 1]), range(self.threads)))

    def host(self, array: Any) -> NDArray[Any]:
        copied: NDArray[Any] = array.copy_to_host() if self.gpu else array
        return copied


class States:
    """Many positions of one game, stepped together; for learning and statistics.

        states = States(make("connect_four"), 4096)
        while ...:
            moves = policy(states.planes, states.mask)
            states.step(moves)
            states.over, states.scores  # which games ended just now, and their final scores

    Chance outcomes are drawn automatically. A game that ends is replaced by a new one at once. All properties are
    arrays whose first axis is the position; with `device="cuda"` they are on the GPU (`__cuda_array_interface__`). The
    next step overwrites the arrays: copy what you want to keep.
    """

    def __init__(self, game: Game | str, count: int, *, seed: int = 0, threads: int | None = None, device: str = "cpu"):
        """`count` start positions of a game or an expression. `threads`: None for one per core."""
        game = game_of(game)
        self._driver = _Driver(game, count, seed, threads, device)
        self.game, self.count = game, count
        self.reset()

    def reset(self) -> None:
        """Start all games again; the random streams continue."""
        self._driver.run(reset)

    def step(self, moves: ArrayLike | Any) -> None:
        """Play one move in each position. On a CPU an illegal one is an error, and then nothing is played; on a GPU,
        where looking would take longer than playing, every move must be legal."""
        batch, driver = self._driver.batch, self._driver
        if driver.gpu:
            if moves is not batch.moves:
                batch.moves.copy_to_device(driver.placed(moves))
        else:
            given = np.asarray(moves)
            if given.shape != (self.count,) or given.dtype.kind not in "iu":
                raise IllegalMove(
                    f"step takes {self.count} whole numbers, one move per position; given were {given.dtype} of shape "
                    f"{given.shape}"
                )
            if given is not batch.moves:
                batch.moves[:] = given
            if (i := self.game.kernel(first_illegal)(batch.moves, batch.mask)) >= 0:
                raise IllegalMove(f"position {i}: move {int(batch.moves[i])} is not legal there; see `mask`")
        driver.run(step)

    def sample(self) -> Any:
        """A uniformly random legal move for each position, in the array that `step` takes."""
        self._driver.run(draw)
        return self._driver.batch.moves

    @property
    def mask(self) -> Any:
        """int8 [position, move]: 1 for the legal moves."""
        return self._driver.batch.mask

    @property
    def turns(self) -> Any:
        """int32 [position]: the seat to move."""
        return self._driver.batch.turns

    @property
    def over(self) -> Any:
        """int8 [position]: 1 where the latest step ended a game; the position is then the start of the next."""
        return self._driver.batch.over

    @property
    def scores(self) -> Any:
        """float64 [position, seat]: the final scores of the game that ended last there."""
        return self._driver.batch.scores

    @property
    def lengths(self) -> Any:
        """int32 [position]: the plies of the game that ended last there, chance outcomes included."""
        return self._driver.batch.lengths

    @property
    def planes(self) -> Any:
        """float32 [position, plane, cell]: what a net sees, from the mover's view."""
        driver = self._driver
        shape = self.count, self.game.num_planes or 0, len(self.game.board.cells)
        if driver.batch.planes.shape != shape:
            driver.batch = driver.batch._replace(planes=driver.zeros(np.float32, *shape))
        driver.run(look)
        return driver.batch.planes

    @property
    def records(self) -> Any:
        """The records themselves."""
        return self._driver.batch.states

    def __len__(self) -> int:
        return self.count

    def __repr__(self) -> str:
        return f"<States: {self.count:,} of {self.game}{' on the GPU' if self._driver.gpu else ''}>"


@dataclass(frozen=True, slots=True)
class Simulation:
    """The results of random games."""

    game: str
    scores: NDArray[np.float64]  # [game, seat]
    plies: NDArray[np.int32]  # [game], chance outcomes included
    seconds: float

    def __len__(self) -> int:
        return len(self.plies)

    @property
    def wins(self) -> tuple[int, ...]:
        """[seat] -> games in which it had the highest score alone."""
        best = self.scores.max(axis=1, keepdims=True)
        alone = (self.scores == best).sum(axis=1) == 1
        return tuple(int(n) for n in ((self.scores == best) & alone[:, None]).sum(axis=0))

    @property
    def draws(self) -> int:
        """Games in which several seats share the highest score."""
        return len(self) - sum(self.wins)

    def _rows(self) -> list[dict[str, Any]]:
        share = 100 / len(self)
        return [
            {"seat": seat, "wins %": round(n * share, 2), "mean score": float(self.scores[:, seat].mean())}
            for seat, n in enumerate(self.wins)
        ]

    def to_pandas(self) -> Any:
        """One row per game, as a pandas DataFrame."""
        seats = {f"score_{seat}": self.scores[:, seat] for seat in range(self.scores.shape[1])}
        return frame({"plies": self.plies, **seats})

    def __repr__(self) -> str:
        wins = " ".join(f"{100 * n / len(self):.1f}" for n in self.wins)
        rate = self.plies.sum() / max(self.seconds, 1e-9) / 1e6
        return (
            f"<Simulation: {len(self):,} games of {self.game}, wins by seat {wins} %, {self.plies.mean():.1f} plies, "
            f"{rate:.1f} M moves/s>"
        )

    def _repr_html_(self) -> str:
        return f"<p>{len(self):,} random games of {self.game}, {self.plies.mean():.1f} plies each</p>" + html(
            self._rows()
        )


def simulate(
    game: Game | str, games: int, *, seed: int = 0, threads: int | None = None, device: str = "cpu"
) -> Simulation:
    """Play that many random games from the start; equal seeds give equal games, however many threads play them."""
    game = game_of(game)
    driver = _Driver(game, games, seed, threads, device)
    _Driver(game, 1, seed, 1, device).run(finish)  # compile before the clock starts
    began = time.perf_counter()
    driver.run(finish)
    lengths, scores = driver.host(driver.batch.lengths), driver.host(driver.batch.scores)
    return Simulation(str(game), scores, lengths, time.perf_counter() - began)
