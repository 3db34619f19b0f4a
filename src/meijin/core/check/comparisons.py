"""The laws that compare: compiled with interpreted rules, one run with another, a game with its mirror image.

They need the trial games of interpreted play, which has caught most writes outside the record by then.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from meijin.core import compile as compiling
from meijin.core import kernels, rng
from meijin.core.check.diagnose import broken
from meijin.core.check.laws import Evidence, Tried, goes_on
from meijin.core.check.statistics import PLIES, play_statistics
from meijin.core.check.supervise import Watch
from meijin.core.check.trial import UNWRITTEN, UNWRITTEN_BYTE, TrialPosition, close, differences
from meijin.core.compile import Function
from meijin.core.errors import RuleError, UnknownName
from meijin.core.game import CHANCE, OVER, Game, Symmetry
from meijin.core.state import State

#: Chance that `sampling` fails a correct game.
FALSE_ALARM = 1e-9

_IMAGES = 12  # symmetries of which each is tried on every game
_SECONDS = 3.0  # for the statistics of random play
_GUARD = 0x5A  # the bytes around a record that compiled rules must leave alone

_WIDTHS = (
    "keep np.uint64 words and signed integers apart (np.uint64 on both sides of an operator), and remember that a "
    "field's value has the field's width when interpreted and 64 bits when compiled: convert with np.int64(...) first"
)
_INSIDE = "keep indices inside the arrays; MEIJIN_JIT=0 stops at the line that leaves them"


# ---- compiled play ----


def _probe_search(game: Game) -> Function:
    """The rules that only searches ask, at one position; the middle row of `flags` is for `noisy`."""
    noisy, key = game.noisy or _no_noisy, game.key or _no_key

    def kernel(states: Any, moves: Any, flags: Any) -> Any:
        for i in range(moves.shape[0]):
            flags[1, i] = 1 if noisy(states[1], moves[i]) else 0
        return key(states[1])

    return kernel


def _no_noisy(s: Any, move: int) -> bool:
    return False


def _no_key(s: Any) -> Any:
    return np.uint64(0)


def compiled_equals_interpreted(evidence: Evidence) -> Tried:
    """Compiled rules say and do exactly what interpreted ones do, and write nothing outside record and buffers."""
    game, watch = evidence.game, evidence.watch
    if not (compiling.JIT and game.compiled):
        return Tried(0, "positions", "left out: MEIJIN_JIT=0" if game.compiled else "left out: the rules stay Python")
    for positions in evidence.trace:
        for here, after in zip(positions, [*positions[1:], None], strict=True):
            states = _guarded(game, here.record)
            _compare_answers(game, watch, here, states)
            if after is not None:
                watch.compiled("play", line=here.line)
                game.kernel(kernels.play)(states, 1, here.move)
                _check_guards(game, "play", states, here.line)
                if changed := differences(after.record[0], states[1]):
                    ply = f"ply {len(after.line)} ({after.line[-1]})"
                    problem = f"differs at {ply}, interpreted -> compiled: {', '.join(changed)}"
                    raise broken(game, "play", problem, _WIDTHS, here.line)
    return Tried(len(evidence.positions), "positions")


def _compare_answers(game: Game, watch: Watch, here: TrialPosition, states: Any) -> None:
    """The rules that only read, at one position; the middle row of each array is the rule's buffer."""
    b, c = game.branching or 0, len(game.board.cells)
    moves, probs = np.full((3, b), UNWRITTEN, np.int32), np.full((3, b), np.nan)
    scores, guess = np.full((3, game.seats), np.nan), np.full((3, game.seats), np.nan)
    cells = np.full((3, c), UNWRITTEN, np.int32)
    planes = np.full((3, game.num_planes or 0, c), np.nan, np.float32)
    owners = np.full((3, c), UNWRITTEN_BYTE, np.int8)
    listing = "odds" if here.turn == CHANCE else "legal"
    watch.compiled("turn", listing, "score", line=here.line)
    turn, n = game.kernel(kernels.look)(states, 1, moves[1], probs[1], scores[1])
    if turn != here.turn:
        raise broken(game, "turn", f"differs: interpreted {here.turn}, compiled {turn}", _WIDTHS, here.line)
    _compare(game, here, listing, moves, here.listed, n)
    if turn == CHANCE:
        _compare(game, here, "odds", probs, here.probs, n)
    _compare(game, here, "score", scores, here.scores, game.seats)
    for rule, rows, answer in (
        ("cells", cells, here.cells),
        ("planes", planes, here.planes),
        ("heuristic", guess, here.guess if game.heuristic is not None else None),
        ("owners", owners, here.owners),
    ):
        if answer is not None:
            watch.compiled(rule, line=here.line)
            game.kernel(getattr(kernels, rule))(states, 1, rows[1])
            _compare(game, here, rule, rows, answer, len(rows[1]))
    _check_guards(game, "turn", states, here.line)
    if game.noisy is not None or game.key is not None:
        _compare_search_rules(game, watch, here, states)


def _compare(game: Game, here: TrialPosition, rule: str, rows: Any, interpreted: Any, size: int) -> None:
    """Compare an answer with the middle row of an array, whose outer rows must be untouched."""
    compiled = rows[1, :size]
    if len(interpreted) != size or not close(interpreted, compiled):
        problem = f"differs: interpreted {_short(interpreted)}, compiled {_short(compiled)}"
        raise broken(game, rule, problem, _WIDTHS, here.line)
    outer, blank = rows[[0, 2]], UNWRITTEN_BYTE if rows.dtype == np.int8 else UNWRITTEN
    if not (np.isnan(outer) if rows.dtype.kind == "f" else outer == blank).all():
        raise broken(game, rule, "writes outside its buffer when compiled", _INSIDE, here.line)


def _compare_search_rules(game: Game, watch: Watch, here: TrialPosition, states: Any) -> None:
    moves = here.listed if here.noisy else here.listed[:0]
    flags = np.zeros((3, len(moves)), np.int64)
    watch.compiled(*(rule for rule in ("noisy", "key") if getattr(game, rule) is not None), line=here.line)
    key = int(game.kernel(_probe_search)(states, moves, flags))
    expected = [int(bool(flag)) for flag in here.noisy]
    if flags[1].tolist() != expected:
        problem = f"differs: interpreted {_short(expected)}, compiled {_short(flags[1])}"
        raise broken(game, "noisy", problem, _WIDTHS, here.line)
    if here.key is not None and (key - here.key) % 2**64 != 0:  # whether signed or not, the same 64 bits
        raise broken(game, "key", f"differs: interpreted {here.key}, compiled {key}", _WIDTHS, here.line)
    _check_guards(game, "noisy" if game.noisy else "key", states, here.line)


def _short(values: Any) -> str:
    return " ".join(np.array2string(np.asarray(values), threshold=12, separator=", ").split())


def _guarded(game: Game, record: Any = None) -> Any:
    """Three records of which the outer two, and a blank middle one, hold a pattern."""
    states = game.states(3)
    states.view(np.uint8)[:] = _GUARD
    if record is not None:
        states[1:2].view(np.uint8)[:] = record.view(np.uint8)
    return states


def _check_guards(game: Game, rule: str, states: Any, line: tuple[str, ...]) -> None:
    if any((states[i : i + 1].view(np.uint8) != _GUARD).any() for i in (0, 2)):
        raise broken(game, rule, "writes outside the record when compiled", _INSIDE, line)


_WALKING = ("start", "turn", "legal", "odds", "sample", "play")  # the rules of random play


def _walks(evidence: Evidence, states: Any, plies: int, streams: Any) -> Any:
    game = evidence.game
    moves, probs = kernels.buffers(game)
    evidence.watch.compiled(*(rule for rule in _WALKING if getattr(game, rule) is not None))
    game.kernel(kernels.random_walks)(states, plies, streams, moves, probs)
    return states


def seeding(evidence: Evidence) -> Tried:
    """The same seed gives the same games, interpreted and compiled, whatever the record held before."""
    game, seed = evidence.game, evidence.seed
    for number, positions in enumerate(evidence.trace):
        states = _guarded(game)
        last = positions[-1]
        _walks(evidence, states[1:2], len(last.line), rng.streams(seed, number + 1)[number:])
        _check_guards(game, "play", states, last.line)
        if changed := differences(last.record[0], states[1]):
            problem = f"ends elsewhere from the same seed: interpreted -> compiled: {', '.join(changed)}"
            raise broken(game, "sample" if game.sample else "play", problem, _WIDTHS, last.line)
    return Tried(len(evidence.trace), "games")


def games_end(evidence: Evidence) -> Tried:
    """Every random game ends within `longest` plies."""
    game = evidence.game
    rules = [rule for rule in _WALKING if rule != "sample" and getattr(game, rule) is not None]
    # One game of long interpreted play was enough to see an end, or not to see it.
    seconds = _SECONDS if compiling.JIT and game.compiled else _SECONDS / 10
    found = play_statistics(
        game, seconds=seconds, seed=evidence.seed, progress=lambda played: evidence.watch.compiled(*rules, "score")
    )
    evidence.statistics = found
    if found.unfinished and game.longest <= PLIES:
        raise broken(game, "turn", *goes_on(game))
    return Tried(found.games, "games", f"{found.unfinished} still going at ply {PLIES}" if found.unfinished else "")


def round_trips(evidence: Evidence) -> Tried:
    """A position is read back from its text, and undo and redo lead through the same positions."""
    game, count = evidence.game, min(5, len(evidence.trace))
    registered = _registered(game)
    for positions in evidence.trace[:count]:
        evidence.watch.compiled("start", "play", "turn", "legal", "score", "cells")
        state = State(game).play_line([position.move for position in positions[:-1]])
        if registered:
            again = State.parse(state.text)
            if again != state or again.history != state.history:
                remedy = "use names without blanks, brackets and '#'"
                raise broken(game, "move_name", "is not read back from a line of moves", remedy, positions[-1].line)
        _same(game, state, positions[-1])
        for position in positions[-2::-1]:
            state.undo()
            _same(game, state, position)
        for position in positions[1:]:
            state.redo()
            _same(game, state, position)
    return Tried(count, "games", "" if registered else "text left out: not registered")


def _same(game: Game, state: State, position: TrialPosition) -> None:
    if changed := differences(position.record[0], state.record):
        problem = f"leads elsewhere when played again or taken back: {', '.join(changed)}"
        raise broken(game, "play", problem, "let it depend on the record and the move alone", position.line)


def _registered(game: Game) -> bool:
    from meijin.core.catalogue import games, make

    try:
        return bool(game.id) and games.get(game.name) is not None and make(game.id) is game
    except UnknownName:
        return False


def symmetries(evidence: Evidence) -> Tried:
    """In the image of a game under each symmetry, turns and scores are equal, and moves and cells are the images."""
    game = evidence.game
    try:
        kept = game.symmetries[1:]
    except UnknownName as error:
        known = ", ".join(game.board.symmetries)
        raise RuleError(f"{error}\n  remedy: correct `keeps` and `swaps`; the board has {known}") from None
    for name in (*(game.keeps or ()), *game.swaps):
        if name not in {symmetry.name for symmetry in game.symmetries}:
            list_ = "swaps" if name in game.swaps else "keeps"
            raise RuleError(
                f"{game}: `{list_}` names '{name}', but it takes the path of some move to no move's path\n"
                f"  remedy: leave it out of `{list_}`, or give `path` (and `outcome_path`) the cells that it moves"
            )
    tried, notes = 0, []
    start = evidence.trace[0][0].cells
    for symmetry in kept:
        if symmetry.swaps:  # the image of a game would begin with the other seat
            notes.append(f"{symmetry.name} not tried: it exchanges the seats")
            continue
        if (start[np.array(symmetry.cells)] != np.array(symmetry.values)[start]).any():
            # No game leads to the image of the start, so the law cannot be tried: the author has to vouch for it.
            if game.keeps is None:
                problem = f"breaks the symmetry '{symmetry.name}': the start is not its own image"
                remedy = f"leave '{symmetry.name}' out of `keeps`, or name it there if the rules keep it all the same"
                raise broken(game, "start", problem, remedy)
            notes.append(f"{symmetry.name} not tried: the start position is not the same after it")
            continue
        notes.append(symmetry.name)
        # Where there are hundreds of symmetries, each is tried on fewer games.
        games = max(1, _IMAGES * len(evidence.trace) // len(kept)) if compiling.JIT and game.compiled else 1
        for positions in evidence.trace[:games]:
            tried += _mirrored(game, evidence.watch, symmetry, positions)
    more = f" and {len(notes) - 11} more" if len(notes) > 12 else ""
    return Tried(tried, "positions", (", ".join(notes[: 11 if more else 12]) or "only the identity") + more)


def _mirrored(game: Game, watch: Watch, symmetry: Symmetry, positions: list[TrialPosition]) -> int:
    states, scores = game.states(1), np.zeros(game.seats)
    moves, probs = kernels.buffers(game)
    cells = np.zeros(len(game.board.cells), np.int32)
    where, values = np.array(symmetry.cells), np.array(symmetry.values)
    watch.compiled("start")
    game.kernel(kernels.start)(states, 0)
    for position in positions:
        watch.compiled("turn", "odds" if position.turn == CHANCE else "legal", "score", "cells", "play")
        turn, n = game.kernel(kernels.look)(states, 0, moves, probs, scores)
        game.kernel(kernels.cells)(states, 0, cells)
        images = np.array(symmetry.outcomes if position.turn == CHANCE else symmetry.moves, np.int32)
        listed = images[position.listed]
        order = np.argsort(listed)
        chances = probs[:n] if position.turn == CHANCE else np.zeros(0)
        expected = position.probs[order] if position.turn == CHANCE else np.zeros(0)
        owners = np.zeros(len(cells), np.int8)
        if position.owners is not None and turn == OVER:
            game.kernel(kernels.owners)(states, 0, owners)
        for rule, ok in (
            ("turn", turn == position.turn),
            ("cells", np.array_equal(cells[where], values[position.cells])),
            ("score", close(scores, position.scores)),
            ("odds" if position.turn == CHANCE else "legal", np.array_equal(moves[:n], listed[order])),
            ("odds", len(chances) == len(expected) and close(chances, expected)),
            ("owners", position.owners is None or np.array_equal(owners[where], position.owners)),
        ):
            if not ok:
                problem = f"breaks the symmetry '{symmetry.name}': what it says about the mirrored game differs"
                remedy = f"leave '{symmetry.name}' out of `keeps`, unless the rules are meant to keep it"
                raise broken(game, rule, problem, remedy, position.line)
        if position.move >= 0:
            game.kernel(kernels.play)(states, 0, int(images[position.move]))
    return len(positions)


# ---- chance ----


def _draws(game: Game) -> Function:
    """Counts what `sample` draws at one position."""
    sample = game.sample
    assert sample is not None

    def kernel(states: Any, count: int, rng: Any, histogram: Any) -> int:
        for _ in range(count):
            drawn = sample(states[0], rng)
            if drawn < 0 or drawn >= histogram.shape[0]:
                return drawn  # type: ignore[no-any-return]
            histogram[drawn] += 1
        return 0

    return kernel


def sampling(evidence: Evidence) -> Tried:
    """`sample` draws every legal move equally often, and outcomes by their odds (false alarms: below 1e-9)."""
    game = evidence.game
    if game.sample is None:
        return Tried(0, "positions", "left out: no `sample`")
    positions = [p for p in evidence.positions if p.turn != OVER and len(p.listed) > 1]
    chosen = positions[:: max(1, len(positions) // 8)][:8]
    draws = game.kernel(_draws)
    for number, position in enumerate(chosen):
        n = len(position.listed)
        total = min(2000 * n, 100_000) if compiling.JIT and game.compiled else 500
        histogram = np.zeros(max(game.num_moves, game.num_outcomes), np.int64)
        evidence.watch.compiled("sample", line=position.line)
        outside = draws(position.record.copy(), total, rng.stream(evidence.seed, 10_000 + number), histogram)
        listed = np.isin(np.arange(len(histogram)), position.listed)
        if outside or histogram[~listed].any():
            stray = outside or int(np.flatnonzero((histogram > 0) & ~listed)[0])
            raise broken(game, "sample", f"draws {stray}, which is not listed", "draw listed moves only", position.line)
        expected = position.probs if position.turn == CHANCE else np.full(n, 1.0 / n)
        # Bernstein's inequality with a union over all tests: exact for any count, so no rule of thumb is needed.
        log = math.log(2 * n * len(chosen) / FALSE_ALARM)
        allowed = log / 3 + np.sqrt(log * log / 9 + 2 * log * total * expected * (1 - expected))
        excess = np.abs(histogram[position.listed] - total * expected) - allowed
        if (excess > 0).any():
            k = int(np.argmax(excess))
            problem = (
                f"draws {position.listed[k]} {histogram[position.listed[k]]} times in {total}; "
                f"{total * expected[k]:.0f} +- {allowed[k]:.0f} are expected"
            )
            remedy = "draw legal moves uniformly, for example by rejection, and outcomes by their odds"
            raise broken(game, "sample", problem, remedy, position.line)
    return Tried(len(chosen), "positions")


# ---- GPU ----


def gpu_equals_cpu(evidence: Evidence) -> Tried:
    """The GPU plays the same games from the same seed."""
    from meijin.core import cuda

    game, seed = evidence.game, evidence.seed
    if not cuda.available():
        return Tried(0, "games", "left out: no GPU")
    count = 2 if cuda.simulated() else 256
    plies = min(game.longest, PLIES)
    device = cuda.random_walks(game, count, plies, seed)
    host = _walks(evidence, game.states(count), plies, rng.streams(seed, count))
    for i in range(count):
        if changed := differences(host[i], device[i]):
            problem = f"ends elsewhere on the GPU (game {i} of seed {seed}), CPU -> GPU: {', '.join(changed)}"
            raise broken(game, "play", problem, _WIDTHS)
    return Tried(count, "games")
