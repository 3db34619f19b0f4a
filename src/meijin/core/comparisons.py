"""The laws that compare: compiled with interpreted rules, one run with another, a game with its mirror image.

Each law is a function whose docstring says it. It raises a RuleError or returns how often it was tried. They need the
trial games of interpreted play, which has caught by then what could write into foreign memory here.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from meijin.core import compile as compiling
from meijin.core import kernels, rng
from meijin.core.compile import Function
from meijin.core.errors import RuleError, UnknownName
from meijin.core.game import CHANCE, OVER, Game, Symmetry
from meijin.core.laws import Evidence, Tried
from meijin.core.state import State
from meijin.core.trial import UNWRITTEN, UNWRITTEN_BYTE, Position, broken, close, differences

#: Chance that `sampling` fails a correct game.
FALSE_ALARM = 1e-9

_PLIES = 20_000  # walks stop here, whatever `longest` says
_WALKS = 64
_SYMMETRIES = 48  # tried at most
_GUARD = 0x5A  # the bytes around a record that compiled rules must leave alone

_WIDTHS = (
    "keep np.uint64 words and signed integers apart (np.uint64 on both sides of an operator), and remember that a "
    "field's value has the field's width when interpreted and 64 bits when compiled: convert with np.int64(...) first"
)
_INSIDE = "keep indices inside the arrays; MEIJIN_JIT=0 stops at the line that leaves them"


# ---- compiled play ----


def _probe(game: Game) -> Function:
    """Every rule that only reads, at one position; the middle row of each array is the rule's buffer."""
    turn, legal, score, cells_rule, planes_rule = game.turn, game.legal, game.score, game.cells, game.planes
    odds, heuristic = game.odds or kernels.no_odds, game.heuristic or _no_heuristic
    assert planes_rule is not None

    def kernel(
        states: Any, moves: Any, probs: Any, scores: Any, cells: Any, planes: Any, guess: Any
    ) -> tuple[int, int]:
        s = states[1]
        t = turn(s)
        n = 0
        if t == CHANCE:
            n = odds(s, moves[1], probs[1])
        elif t != OVER:
            n = legal(s, moves[1])
        score(s, scores[1])
        cells_rule(s, cells[1])
        planes_rule(s, planes[1])
        heuristic(s, guess[1])
        return t, n

    return kernel


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


def _no_heuristic(s: Any, scores: Any) -> None:
    return None


def compiled_equals_interpreted(evidence: Evidence) -> Tried:
    """Compiled rules say and do exactly what interpreted ones do, and write nothing outside record and buffers."""
    game = evidence.game
    if not compiling.JIT:
        return Tried(0, "positions", "left out: MEIJIN_JIT=0")
    play = game.kernel(kernels.play)
    for positions in evidence.trace:
        for here, after in zip(positions, [*positions[1:], None], strict=True):
            states = _guarded(game, here.record)
            _compare_reading(game, here, states)
            if after is not None:
                play(states, 1, here.move)
                _check_guards(game, "play", states, here.line)
                if changed := differences(after.record[0], states[1]):
                    ply = f"ply {len(after.line)} ({after.line[-1]})"
                    problem = f"differs at {ply}, interpreted -> compiled: {', '.join(changed)}"
                    raise broken(game, "play", problem, _WIDTHS, here.line)
    return Tried(len(evidence.positions), "positions")


def _compare_reading(game: Game, here: Position, states: Any) -> None:
    """The rules that only read, at one position."""
    b, c = game.branching or 0, len(game.board.cells)
    moves, probs = np.full((3, b), UNWRITTEN, np.int32), np.full((3, b), np.nan)
    scores, guess = np.full((3, game.seats), np.nan), np.full((3, game.seats), np.nan)
    cells = np.full((3, c), UNWRITTEN, np.int32)
    planes = np.full((3, game.num_planes or 0, c), np.nan, np.float32)
    turn, n = game.kernel(_probe)(states, moves, probs, scores, cells, planes, guess)
    if turn != here.turn:
        raise broken(game, "turn", f"differs: interpreted {here.turn}, compiled {turn}", _WIDTHS, here.line)
    chance = turn == CHANCE
    for rule, rows, interpreted, size in (
        ("odds" if chance else "legal", moves, here.listed, n),
        ("odds", probs, here.probs, n if chance else 0),
        ("score", scores, here.scores, game.seats),
        ("cells", cells, here.cells, c),
        ("planes", planes, here.planes, game.num_planes or 0),
        ("heuristic", guess, here.guess, game.seats),
    ):
        compiled, expected = rows[1, :size], np.asarray(interpreted)[:size]
        if len(expected) != size or not close(expected, compiled):
            problem = f"differs: interpreted {_short(interpreted)}, compiled {_short(compiled)}"
            raise broken(game, rule, problem, _WIDTHS, here.line)
        if any(not (np.isnan(row) if rows.dtype.kind == "f" else row == UNWRITTEN).all() for row in (rows[0], rows[2])):
            raise broken(game, rule, "writes outside its buffer when compiled", _INSIDE, here.line)
    _check_guards(game, "turn", states, here.line)
    if game.noisy is not None or game.key is not None:
        _compare_search_rules(game, here, states)
    if here.owners is not None:
        owners = np.full((3, c), UNWRITTEN_BYTE, np.int8)
        game.kernel(kernels.owners)(states, 1, owners[1])
        if not np.array_equal(owners[1], here.owners):
            problem = f"differs: interpreted {_short(here.owners)}, compiled {_short(owners[1])}"
            raise broken(game, "owners", problem, _WIDTHS, here.line)
        if (owners[[0, 2]] != UNWRITTEN_BYTE).any():
            raise broken(game, "owners", "writes outside its buffer when compiled", _INSIDE, here.line)
        _check_guards(game, "owners", states, here.line)


def _compare_search_rules(game: Game, here: Position, states: Any) -> None:
    moves = here.listed if here.noisy else here.listed[:0]
    flags = np.zeros((3, len(moves)), np.int64)
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


def _walks(game: Game, states: Any, plies: int, streams: Any) -> Any:
    moves, probs = kernels.buffers(game)
    game.kernel(kernels.random_walks)(states, plies, streams, moves, probs)
    return states


def seeding(evidence: Evidence) -> Tried:
    """The same seed gives the same games, interpreted and compiled, whatever the record held before."""
    game, seed = evidence.game, evidence.seed
    for number, positions in enumerate(evidence.trace):
        states = _guarded(game)
        last = positions[-1]
        _walks(game, states[1:2], len(last.line), rng.streams(seed, number + 1)[number:])
        _check_guards(game, "play", states, last.line)
        if changed := differences(last.record[0], states[1]):
            problem = f"ends elsewhere from the same seed: interpreted -> compiled: {', '.join(changed)}"
            raise broken(game, "sample" if game.sample else "play", problem, _WIDTHS, last.line)
    return Tried(len(evidence.trace), "games")


def games_end(evidence: Evidence) -> Tried:
    """Every random game ends within `longest` plies."""
    game = evidence.game
    count = _WALKS if compiling.JIT else 1
    plies = min(game.longest, _PLIES)
    states = _walks(game, game.states(count), plies, rng.streams(evidence.seed + 1, count))
    going = [state for state in (State(game, record) for record in states) if not state.is_over]
    if going and plies == game.longest:
        problem = f"says the game goes on after longest={game.longest} plies"
        remedy = f"declare a larger `longest`, or end the game there; the position is\n{going[0]}"
        raise broken(game, "turn", problem, remedy)
    return Tried(count, "games", f"{len(going)} still going at ply {plies}" if going else "")


def round_trips(evidence: Evidence) -> Tried:
    """A position is read back from its text, and undo and redo lead through the same positions."""
    game, count = evidence.game, min(5, len(evidence.trace))
    registered = _registered(game)
    for positions in evidence.trace[:count]:
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
    return Tried(count, "games", "" if registered else "text left out: the game is not registered")


def _same(game: Game, state: State, position: Position) -> None:
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
        raise RuleError(f"{error}\n  remedy: correct `keeps` and `swaps`") from None
    for name in (*(game.keeps or ()), *game.swaps):
        if name not in {symmetry.name for symmetry in game.symmetries}:
            list_ = "swaps" if name in game.swaps else "keeps"
            raise RuleError(
                f"{game}: `{list_}` names '{name}', but it takes the path of some move to no move's path\n"
                f"  remedy: leave it out of `{list_}`, or give `path` (and `outcome_path`) the cells that it moves"
            )
    tried, notes = 0, []
    start = evidence.trace[0][0].cells
    for symmetry in some(kept):
        if symmetry.swaps:  # the image of a game would begin with the other seat
            notes.append(f"{symmetry.name} not tried: it exchanges the seats")
            continue
        if (start[np.array(symmetry.cells)] != np.array(symmetry.values)[start]).any():
            # No game leads to the image of the start, so the law cannot be tried: the author has to vouch for it.
            if game.keeps is None:
                problem = f"breaks the symmetry '{symmetry.name}': the start is not its own image"
                remedy = f"leave '{symmetry.name}' out of `keeps`, or name it there if the rules keep it all the same"
                raise broken(game, "start", problem, remedy)
            notes.append(f"{symmetry.name} not tried: it moves the start")
            continue
        notes.append(symmetry.name)
        for positions in evidence.trace if compiling.JIT else evidence.trace[:1]:
            tried += _mirrored(game, symmetry, positions)
    if len(kept) > len(notes):
        return Tried(tried, "positions", f"{len(notes)} of {len(kept)} symmetries")
    return Tried(tried, "positions", ", ".join(notes) or "only the identity")


def some(symmetries: Sequence[Symmetry]) -> Sequence[Symmetry]:
    """All symmetries, or a fair sample of very many."""
    return symmetries[:: -(-len(symmetries) // _SYMMETRIES)] if symmetries else ()


def _mirrored(game: Game, symmetry: Symmetry, positions: list[Position]) -> int:
    states, scores = game.states(1), np.zeros(game.seats)
    moves, probs = kernels.buffers(game)
    cells = np.zeros(len(game.board.cells), np.int32)
    where, values = np.array(symmetry.cells), np.array(symmetry.values)
    game.kernel(kernels.start)(states, 0)
    for position in positions:
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
                problem = f"breaks the symmetry '{symmetry.name}': what it says of the mirrored game is not the image"
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
        return Tried(0, "positions", "left out: the game has no `sample`")
    positions = [p for p in evidence.positions if p.turn != OVER and len(p.listed) > 1]
    chosen = positions[:: max(1, len(positions) // 8)][:8]
    draws = game.kernel(_draws)
    for number, position in enumerate(chosen):
        n = len(position.listed)
        total = min(2000 * n, 100_000) if compiling.JIT else 500
        histogram = np.zeros(max(game.num_moves, game.num_outcomes), np.int64)
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
    game, seed = evidence.game, evidence.seed
    if evidence.gpu is False:
        return Tried(0, "games", "left out: gpu=False")
    from meijin.core import cuda

    if evidence.gpu:
        cuda.require()
    elif not cuda.available():
        return Tried(0, "games", "left out: no GPU here")
    count = 2 if cuda.simulated() else 256
    plies = min(game.longest, _PLIES)
    device = cuda.random_walks(game, count, plies, seed)
    host = _walks(game, game.states(count), plies, rng.streams(seed, count))
    for i in range(count):
        if changed := differences(host[i], device[i]):
            problem = f"ends elsewhere on the GPU (game {i} of seed {seed}), CPU -> GPU: {', '.join(changed)}"
            raise broken(game, "play", problem, _WIDTHS)
    return Tried(count, "games")
