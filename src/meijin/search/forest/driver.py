"""`Forest`: many searches at once, on the CPU's threads or on a GPU; a net is asked about all their leaves together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from meijin.core import cuda as device
from meijin.core import kernels
from meijin.core.errors import BadParameter
from meijin.core.game import Game
from meijin.core.rng import stream, streams
from meijin.core.state import State
from meijin.search.forest import layout, leaves, steps
from meijin.search.forest.layout import Arrays
from meijin.search.forest.packing import packing
from meijin.search.forest.selection import halving_table

DEEPEST = 4096  # plies from the root that a tree has nodes for

LEAST = {"simulations": 1, "considered": 1, "leaves": 1} | dict.fromkeys(
    (
        "c",
        "alpha",
        "forced",
        "fast_simulations",
        "temperature",
        "warm",
        "cool",
        "random_plies",
        "cap",
        "free_simulations",
    ),
    0,
)


@dataclass(frozen=True, slots=True)
class Settings:
    """How trees search and how self-play plays."""

    simulations: int = 64  # per move
    gumbel: bool = False  # Gumbel's rules (sampling without replacement, sequential halving) in place of PUCT
    c: float = 1.5  # PUCT's exploration: the weight of the net's opinion against what was seen
    fpu: float = 0.15  # how much less than its parent an unvisited move is taken to be worth
    alpha: float = 0.0  # of the Dirichlet noise at the root; 0: none
    noise: float = 0.25  # its share of the root's priors
    forced: float = 0.0  # KataGo's k of forced playouts at the root, pruned from what is learned; 0: none
    visit_scale: float = 50.0  # Gumbel's c_visit
    value_scale: float = 1.0  # Gumbel's c_scale
    considered: int = 16  # Gumbel: moves considered at the root
    gumbel_scale: float = 1.0  # Gumbel: of the noise at the root; 0: play at one's best
    fast_simulations: int = 0  # per move in the short searches of playout-cap randomisation, which are not learned from
    full_share: float = 1.0  # share of the searches that are full
    temperature: float = 1.0  # of the choice of moves, up to ply `warm`
    warm: int = 0  # plies
    cool: float = 0.0  # the temperature from there on; 0: the best move
    random_share: float = 0.0  # share of the games that begin with random plies
    random_plies: int = 0  # at most
    cap: int = 0  # plies after which a game is cut short and scored as it stands; 0: never
    resign: float = -2.0  # value in [-1, 1] below which a seat resigns; -1 or less: never
    play_on: float = 0.1  # share of the games in which no seat may resign, to see how often that would be wrong
    reuse: bool = False  # keep the tree below the move that was made; its simulations count
    fresh: bool = False  # with reuse: they come on top of those wanted, at most as many again
    hurry: bool = True  # a root whose value is proven moves at once; else it waits for its last simulation
    leaves: int = 1  # of a tree that the net is asked about at once; more need PUCT, and no self-play
    free_simulations: int = 0  # simulations per step that need no net; 0: 64 on a CPU, 1 on a GPU, whose trees wait

    def __post_init__(self) -> None:
        for name, low in LEAST.items():
            if not getattr(self, name) >= low:
                raise BadParameter(f"{name}={getattr(self, name)!r}: must be at least {low}")
        for name in ("noise", "full_share", "random_share", "play_on"):
            if not 0 <= getattr(self, name) <= 1:
                raise BadParameter(f"{name}={getattr(self, name)!r}: must be between 0 and 1")
        if self.full_share < 1 and self.fast_simulations < 1:
            raise BadParameter("full_share below 1 needs fast_simulations, the length of the other searches")
        if self.gumbel and self.reuse:
            raise BadParameter("reuse=True: Gumbel's sequential halving begins with a fresh root; leave reuse out")
        if self.fresh and not self.reuse:
            raise BadParameter("fresh=True: without reuse no simulations are kept; set reuse, too")
        if self.gumbel and self.leaves > 1:
            raise BadParameter(f"leaves={self.leaves}: Gumbel's sequential halving asks about one leaf at a time")

    def array(self, gpu: bool = False) -> np.ndarray:
        values = np.zeros(layout.OPTIONS_SIZE)
        for slot, value in (
            (layout.C, self.c),
            (layout.FPU, self.fpu),
            (layout.ALPHA, self.alpha),
            (layout.NOISE, self.noise),
            (layout.FORCED, self.forced),
            (layout.VISIT_SCALE, self.visit_scale),
            (layout.VALUE_SCALE, self.value_scale),
            (layout.CONSIDERED, self.considered),
            (layout.GUMBEL_SCALE, self.gumbel_scale),
            (layout.FULL_SIMULATIONS, self.simulations),
            (layout.FAST_SIMULATIONS, self.fast_simulations),
            (layout.FULL_SHARE, self.full_share),
            (layout.TEMPERATURE, self.temperature),
            (layout.WARM, self.warm),
            (layout.COOL, self.cool),
            (layout.RANDOM_SHARE, self.random_share),
            (layout.RANDOM_PLIES, self.random_plies),
            (layout.CAP, self.cap),
            (layout.RESIGN, self.resign),
            (layout.RESIGN_PLAY_ON, self.play_on),
            (layout.REUSE, float(self.reuse)),
            (layout.FRESH, float(self.fresh)),
            (layout.HURRY, float(self.hurry)),
            (layout.LEAVES, self.leaves),
            (layout.FREE_SIMULATIONS, self.free_simulations or (1 if gpu else 64)),
        ):
            values[slot] = value
        return values


def mean_moves(game: Game) -> float:
    """Moves or outcomes in a position of random play, on average."""
    rng, count, total = stream(7), 0, 0
    walk, moves, probs = game.kernel(kernels.random_walks), *kernels.buffers(game)
    states = game.states(1)
    for plies in range(64):
        walk(states, plies * min(game.longest, 320) // 64, rng.reshape(1, 1), moves, probs)
        state = State(game, states[0])
        if not state.is_over:
            total += len(state.legal_moves)
            count += 1
    return total / max(1, count)


def memory(
    game: Game, count: int, settings: Settings, slots: int = 1, selfplay: bool = False
) -> dict[str, tuple[Any, tuple[int, ...]]]:
    """Name -> dtype and shape of a forest's arrays, a few shared ones aside."""
    assert game.branching is not None and game.num_planes is not None
    nodes = (settings.simulations * (2 if settings.fresh else 1) + 2) * (2 if game.chance else 1)
    edges = min(nodes * game.branching, int(2 * nodes * mean_moves(game)) + 2 * game.branching)
    cells, form = len(game.board.cells), packing(game)
    seats, width, asked = game.seats, game.branching, count * settings.leaves
    return {
        "root_words": (np.uint64, (count, game.dtype.itemsize // 8)),
        "here_words": (np.uint64, (asked, game.dtype.itemsize // 8)),
        "nodes": (layout.node_dtype(), (count, nodes)),
        "edges": (layout.edge_dtype(seats), (count, edges)),
        "info": (np.int32, (count, layout.INFO_SIZE)),
        "path": (np.int32, (asked, min(nodes, DEEPEST), 2)),
        "asked": (np.int32, (asked, layout.ASKED_SIZE)),
        "moves": (np.int32, (count, width)),
        "probs": (np.float64, (count, width)),
        "scores": (np.float64, (count, seats)),
        "values": (np.float64, (count, seats)),
        "bounds": (np.float64, (count, seats, 2)),
        "weights": (np.float64, (count, width)),
        "noise": (np.float32, (count, width)),
        "stats": (np.int64, (count, layout.STATS_SIZE)),
        "sums": (np.float64, (count, seats)),
        "x": (np.float32, (asked, game.num_planes, cells)),
        "logits": (np.float32, (asked, game.num_moves)),
        "outlook": (np.float32, (asked, seats)),
        "bits": (np.uint8, (count, slots, max(1, form.bytes))),
        "numbers": (np.float32, (count, slots, max(1, form.numbers))),
        "kept_moves": (np.int16, (count, slots, width if selfplay else 1)),
        "kept_probs": (np.float32, (count, slots, width if selfplay else 1)),
        "kept_roots": (np.float32, (count, slots, seats)),
        "surprise": (np.float32, (count, slots)),
        "outcomes": (np.float32, (count, slots, seats)),
        "facts": (np.int32, (count, slots, layout.FACTS_SIZE)),
        "owners": (np.int8, (count, slots, cells if selfplay and game.owners is not None else 1)),
    }


class Forest:
    """Trees for `count` positions or games of self-play.

    A step puts the net's answers (`logits`, `outlook`) into the trees and writes its next questions to `x`; between two
    steps the caller runs the net. On a GPU all arrays live there, and `x`, `logits` and `outlook` may be given, as
    anything with `__cuda_array_interface__`. `draw` is what a draw is worth to every seat.
    """

    def __init__(
        self,
        game: Game,
        count: int,
        settings: Settings,
        *,
        selfplay: bool = False,
        slots: int = 1,
        seed: int = 0,
        draw: float = 0.0,
        gpu: bool = False,
        x: Any = None,
        logits: Any = None,
        outlook: Any = None,
    ):
        assert game.branching is not None and game.num_planes is not None
        if count < 1:
            raise BadParameter(f"{count} trees: must be at least 1")
        if settings.leaves > 1 and selfplay:
            raise BadParameter(f"leaves={settings.leaves}: self-play asks about one leaf of each tree at a time")
        if game.num_moves > 2**15 - 1 and selfplay:
            raise BadParameter(f"{game} has {game.num_moves} moves; self-play keeps at most {2**15 - 1}")
        self.game, self.count, self.settings, self.gpu, self.selfplay = game, count, settings, gpu, selfplay
        self.draw = draw
        self.capacity = settings.simulations
        shapes = memory(game, count, settings, slots if selfplay else 1, selfplay)
        given = {"x": x, "logits": logits, "outlook": outlook}
        made: dict[str, Any] = {"rng": streams(seed, count), "options": self._options(settings)}
        made["table"] = self._table(settings)
        for name, (dtype, shape) in shapes.items():
            if given.get(name) is not None:
                made[name] = given[name]
            elif gpu:
                made[name] = device.zeros(shape, dtype)
            else:
                made[name] = np.zeros(shape, dtype)
        if gpu:
            made = {name: device.as_device(array) for name, array in made.items()}
        self.arrays = Arrays(**layout.with_records(made, game.dtype))
        self._run(steps.new_game)

    def _options(self, settings: Settings) -> np.ndarray:
        options = settings.array(self.gpu)
        options[layout.DRAW] = self.draw
        return options

    def _table(self, settings: Settings) -> np.ndarray:
        """The plan of Gumbel's sequential halving, in an array of the size that the forest was made for."""
        table = halving_table(min(settings.considered, self.game.branching or 1), settings.simulations)
        return np.pad(table, ((0, 0), (0, self.capacity - table.shape[1])), "edge")

    # ---- driving ----

    def _run(self, maker: Any, stream: Any = 0) -> None:
        if self.gpu:
            device.over(self.game, maker, self.count, self.arrays, stream)
        else:
            self.game.kernel(steps.on_cpu(maker))(self.arrays, 0, self.count)

    def step(self, stream: Any = 0) -> None:
        """One step of every tree; on a GPU in that stream and without waiting for its end."""
        several = self.settings.leaves > 1
        self._run(leaves.step if several else steps.step_with(self.settings.gumbel, self.selfplay), stream)

    def settle(self, stream: Any = 0) -> None:
        """Put the net's answers into the trees without asking anything more: no simulation is under way then."""
        if self.settings.leaves > 1:
            self._run(leaves.settle, stream)

    @property
    def questions(self) -> int:
        """How many of the leaves the net has been asked about, which are the first ones; for a single tree."""
        if self.settings.leaves == 1:
            return int(self.host("info")[0, layout.WAITS])
        return int(self.host("asked")[:, layout.LEAF_WAITS].sum())

    def restart(self, roots: Any | None = None) -> None:
        """Forget the trees; with records, search these positions next."""
        if roots is not None:
            if self.gpu:
                self.arrays.roots.copy_to_device(roots)
            else:
                self.arrays.roots[:] = roots
        self._run(steps.forget)

    def set_options(self, settings: Settings, rivals: int = 0, net: int = 0) -> None:
        """Other numbers for the searches to come, how many trees play against a past net (see `layout.PAST`), and the
        number of the net.
        """
        if settings.simulations > self.capacity or settings.considered != self.settings.considered:
            raise BadParameter(
                f"simulations={settings.simulations}, considered={settings.considered}: this forest was made for at "
                f"most {self.capacity} simulations and {self.settings.considered} considered moves"
            )
        self.settings = settings
        options = self._options(settings)
        options[layout.RIVALS], options[layout.NET] = rivals, net
        for array, values in ((self.arrays.options, options), (self.arrays.table, self._table(settings))):
            if self.gpu:
                array.copy_to_device(values)
            else:
                array[:] = values

    def host(self, name: str) -> np.ndarray:
        """An array as NumPy has it, copied from the device where needed."""
        array = getattr(self.arrays, name)
        return array.copy_to_host() if self.gpu else array

    @property
    def finished(self) -> bool:
        """Whether every search is complete (outside self-play)."""
        info = self.host("info")
        enough = (info[:, layout.DONE] >= info[:, layout.TARGET]) | (info[:, layout.PROVEN] == 1)
        return bool(((info[:, layout.READY] == 1) & enough).all())
