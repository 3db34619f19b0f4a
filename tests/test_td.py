"""N-tuple networks and what they learn: values against plain Python and solvers, runs that repeat, bad settings."""

from __future__ import annotations

import json
import math
import random
import signal
import subprocess
import sys
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("safetensors")

from commands import good, run
from meijin import build, make, training
from meijin.agents.champion import AHEAD
from meijin.agents.check import check_agent
from meijin.cli.run_display import Shown
from meijin.core import compile as compiling
from meijin.core.errors import BadParameter, MeijinError
from meijin.core.game import Game
from meijin.core.rng import stream
from meijin.core.state import State
from meijin.learning import checkpoint, files
from meijin.learning.nets import safetensors
from meijin.learning.td import sizes
from meijin.learning.td.config import TdConfig
from meijin.learning.td.network import Network, plan
from meijin.learning.td.summary import summary
from meijin.learning.td.tuples import layout
from meijin.training.champions import make_champion
from meijin.training.events import Progress
from meijin.training.td_run import TdRun

GAME = "tic_tac_toe"
BOARD = " ".join(column + row for column in "abcd" for row in "1234")  # of 2048


def trained(folder: Path, game: str = GAME, iterations: int = 1, **changes: Any) -> TdRun:
    settings = {"length.evaluate": 0, **{name.replace("__", "."): value for name, value in changes.items()}}
    made = training.td(game, out=folder, changes=settings, iterations=iterations)
    made.go()
    return made


def drawn(game: Game, seed: int, **changes: Any) -> Network:
    """A network with random weights."""
    made = Network.fresh(game, TdConfig(str(game)).changed({k.replace("__", "."): v for k, v in changes.items()}))
    made.weights[:] = np.random.default_rng(seed).normal(0, 0.1, len(made.weights))
    return made


def positions(game: Game, count: int) -> list[State]:
    """Positions of random games in which a seat is to move."""
    found: list[State] = []
    rng, draw = stream(1), random.Random(1)
    while len(found) < count:
        state = State(game).roll(rng)
        while not state.is_over:
            found.append(state.copy())
            state.play(draw.choice(state.legal_moves)).roll(rng)
    return found[:count]


# ---- networks ----


def plain_value(net: Network, state: State, seat: int) -> float:
    """What the weights of a seat say about a position, computed anew from the definition."""
    game, total, base = net.game, 0.0, 0
    size = sum(math.prod(len(alphabet(game, c)) for c in places) for places in net.tuples)
    for places in net.tuples:
        for symmetry in game.symmetries:
            if symmetry.swaps:
                continue
            image = [0] * len(state.cells)
            for cell, value in enumerate(state.cells):
                image[symmetry.cells[cell]] = symmetry.values[value]
            index, stride = 0, 1
            for cell in places:
                index += stride * alphabet(game, cell).index(image[cell])
                stride *= len(alphabet(game, cell))
            total += float(net.weights[seat * size + base + index])
        base += math.prod(len(alphabet(game, c)) for c in places)
    return total


def alphabet(game: Game, cell: int) -> list[int]:
    return list(range(len(game.pieces)) if game.alphabets is None else game.alphabets[cell])


@pytest.mark.parametrize(("name", "jit"), [(GAME, True), ("einstein", False), ("2048(size=2)", True)])
def test_a_value_is_the_sum_of_the_weights_of_all_tuples_and_symmetries(
    name: str, jit: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compiling, "JIT", jit)
    game = make(name)
    net = drawn(game, 0, tuples__count=3, tuples__length=3)
    for state in positions(game, 20):
        for move, value in zip(state.legal_moves, net.values(state), strict=True):
            after = state.copy().play(move)
            if after.is_over:
                expected = after.scores[state.turn]
            else:
                expected = plain_value(net, after, state.turn)
                expected = math.tanh(expected) if game.bounded else after.scores[state.turn] + expected
            assert value == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("learn", ["td", "sarsa"])
def test_symmetric_positions_have_equal_values(learn: str) -> None:
    game = make(GAME)
    net = drawn(game, 1, learn=learn, tuples__count=3, tuples__length=4)
    for state in positions(game, 12):
        values = dict(zip(state.legal_moves, net.values(state), strict=True))
        for symmetry in game.symmetries:
            image = State(game).play_line([symmetry.moves[move] for move in state.history])
            seen = dict(zip(image.legal_moves, net.values(image), strict=True))
            for move, value in values.items():
                assert seen[game.moves[symmetry.moves[move]]] == pytest.approx(value, abs=1e-5)


def test_seats_that_share_a_network_see_each_other_exchanged() -> None:
    layout = drawn(make(GAME), 2, tuples__share=True).layout
    assert layout.networks.tolist() == [0, 0]
    assert layout.views.tolist() == [0, 1]
    assert (layout.codes[1][:, [0, 2, 1]] == layout.codes[0]).all()  # O for X


def test_looking_ahead_is_expectimax_over_the_values(tmp_path: Path, compiled_in_soak: None) -> None:
    game = make("2048(size=2)")
    net = drawn(game, 5, tuples__count=2, tuples__length=3)
    path = net.save(tmp_path / "net.safetensors")
    deep = build(f'td("{path}", depth=3)', game)
    plain = build(f'nply(td("{path}"), depth=2)', game)  # which looks at one move more
    for state in positions(game, 4):
        found = {info.move: info.value for info in plain.analyse(state).moves}
        for info in deep.analyse(state).moves:
            assert info.value == pytest.approx(found[info.move], abs=1e-4)
    with pytest.raises(BadParameter, match="only in games for one"):
        build(f'td("{drawn(make(GAME), 0).save(tmp_path / "other.safetensors")}", depth=2)', make(GAME))


def test_looking_ahead_discounts_what_comes_later(tmp_path: Path, interpreted: None) -> None:
    path = drawn(make("cube(twists=2)"), 5, gamma=0.9, tuples__count=2).save(tmp_path / "net.safetensors")
    game = make("cube(twists=1, max_moves=9)")  # which only begins and ends otherwise
    near, deep = build(f'td("{path}")', game), build(f'td("{path}", depth=2)', game)
    for state in positions(game, 8):
        for info in deep.analyse(state).moves:
            after = state.copy().play(info.move)
            later = 0.5 + 0.9 * (near.value(after)[0] - 0.5)  # values lie around the middle of the scores
            assert info.value == pytest.approx(after.scores if after.is_over else (later,), abs=1e-5)


def test_walks_go_along_diagonals_too() -> None:
    found = drawn(make("connect_four"), 0, tuples__count=70, tuples__length=8).tuples
    diagonal = sum(any({c, c + 8, c + 16} <= set(cells) and c % 7 < 5 for c in cells) for cells in found)
    straight = sum(any({c, c + 1, c + 2} <= set(cells) and c % 7 < 5 for c in cells) for cells in found)
    assert diagonal > 10 and straight > 10


@pytest.mark.parametrize(("kind", "length", "different"), [("walk", 3, 512), ("points", 2, 861)])
def test_there_are_only_so_many_tuples(kind: str, length: int, different: int) -> None:
    """Asked for more, it finds all there are, soon, in the order of the seed."""
    changes = {"tuples.kind": kind, "tuples.length": length, "tuples.count": 10**5, "tuples.symmetries": 1}
    config = TdConfig("connect_four").changed(changes)
    found, *_ = plan(make("connect_four"), config)
    assert len(set(found)) == len(found) == different
    assert plan(make("connect_four"), config.changed({"tuples.count": 50}))[0] == found[:50]


def test_a_cell_that_can_be_filled_is_another_value(interpreted: None) -> None:
    """Connect Four: discs fall on others, and tuples tell the cells where the next ones come to rest."""
    game = make("connect_four")
    net = drawn(game, 6, tuples__count=1, tuples__length=4, tuples__cells=["a1 a2"], tuples__symmetries=1)
    assert len(net.weights) == 2 * 4 * 4
    state = State(game).play_line("4")
    net.weights[:] = 0
    net.weights[16 + 3] = 0.5  # the second seat: a1 can be filled, a2 cannot
    net.weights[16 + 2 + 4 * 3] = -0.5  # its own disc on a1, a2 can be filled
    values = net.values(state)
    assert values[0] == pytest.approx(math.tanh(-0.5), abs=1e-6)
    assert values[1:] == pytest.approx([math.tanh(0.5)] * 6, abs=1e-6)


def test_the_parts_of_a_value_add_up_to_it() -> None:
    game = make(GAME)
    net = drawn(game, 3, tuples__count=4, tuples__length=3)
    state = State(game).play_line("b2 a1")
    parts = net.parts(state, state.legal_moves[0])
    assert parts is not None and len(parts) == len(net.tuples)
    assert math.tanh(parts.sum()) == pytest.approx(net.values(state)[0], abs=1e-5)


def test_a_saved_network_is_the_same_network(tmp_path: Path) -> None:
    game = make(GAME)
    net = drawn(game, 4, tuples__count=3, tuples__length=4, tuples__kind="points")
    again = Network.load(net.save(tmp_path / "net.safetensors")).net
    assert again.tuples == net.tuples
    assert again.values(State(game)) == net.values(State(game))


def test_a_checkpoint_tells_of_its_tuples_in_its_header(tmp_path: Path) -> None:
    """The web app asks often, of files with hundreds of megabytes behind the header."""
    net = drawn(make(GAME), 4, learn="q", tuples__count=3, tuples__length=4, tuples__symmetries=2, tuples__stages=[2])
    path = net.save(tmp_path / "net.safetensors", games=7)
    data = path.read_bytes()
    path.write_bytes(data[: 8 + int.from_bytes(data[:8], "little")])
    found = summary(path)
    assert found is not None
    assert (found.games, found.weights, found.symmetries) == (7, len(net.weights), 2)
    means = [float(np.abs(table).mean(dtype=np.float64)) for table in net.tables()]
    assert [each.mean_weight for each in found.tuples] == sorted(means, reverse=True)
    for each in found.tuples:
        assert tuple(each.cells) == net.tuples[each.number - 1]
        assert (each.entries, each.mean_weight) == (81, means[each.number - 1])
    older = json.loads(files.header(path)["meijin"])
    del older["net"]["mean_weights"]  # as checkpoints were before
    path.write_bytes(safetensors.pack({}, {"kind": "td", "meijin": json.dumps(older)}))
    found = summary(path)
    assert found is not None
    assert [(each.number, each.mean_weight) for each in found.tuples] == [(1, None), (2, None), (3, None)]


def test_a_few_symmetries_are_a_random_choice_with_the_identity() -> None:
    def seen(seed: int, game: str = GAME, k: int = 3) -> list[str]:
        return [
            s.name for s in Network.fresh(make(game), TdConfig(game, seed=seed).changed({"tuples.symmetries": k})).seen
        ]

    choices = [seen(seed) for seed in range(8)]
    assert choices == [seen(seed) for seed in range(8)]
    assert {(len(set(names)), names[0]) for names in choices} == {(3, "identity")}
    assert len(set(map(tuple, choices))) > 1
    assert seen(3, k=8) == seen(4, k=0) == [s.name for s in make(GAME).symmetries]
    assert seen(5, k=1) == ["identity"]


def test_a_checkpoint_keeps_its_symmetries_and_an_old_one_has_the_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    game = make(GAME)
    states, first, net = positions(game, 10), game.symmetries[:3], drawn(game, 7, tuples__symmetries=3)
    assert net.seen != first
    again = Network.load(net.save(tmp_path / "net.safetensors")).net
    assert [again.values(state) for state in states] == [net.values(state) for state in states]
    # What was written before: the first symmetries, and no word of them.
    old, _ = layout(game, net.config, net.tuples, False, first)
    written, write = replace(net, seen=first, layout=old), checkpoint.write
    monkeypatch.setattr(
        checkpoint,
        "write",
        lambda path, kind, game, about, *more: write(
            path, kind, game, {k: v for k, v in about.items() if k != "symmetries"}, *more
        ),
    )
    again = Network.load(written.save(tmp_path / "old.safetensors")).net
    assert again.seen == first
    assert [again.values(state) for state in states] == [written.values(state) for state in states]
    net.take(again, {})  # an old run goes on with its own
    assert [net.values(state) for state in states] == [written.values(state) for state in states]


def test_agents_share_a_network_until_its_file_changes(tmp_path: Path) -> None:
    game, file = make(GAME), tmp_path / "net.safetensors"
    nets = [drawn(game, seed, tuples__count=3, tuples__length=4) for seed in (4, 5)]
    nets[0].save(file)
    first, second = build(f'td("{file}")', game), build(f'td("{file}")', game)
    assert first.network is second.network  # type: ignore[attr-defined]
    nets[1].save(file)
    values = build(f'td("{file}")', game).network.values(State(game))  # type: ignore[attr-defined]
    assert values == nets[1].values(State(game)) != nets[0].values(State(game))


# ---- learning ----


@cache
def solved(cells: tuple[int, ...], turn: int) -> float:
    """What the seat to move at tic-tac-toe can get."""
    state = State.set_up(make(GAME), cells, turn)
    if state.is_over:
        return state.scores[turn]
    return max(-after(state, move) for move in state.legal_moves)


def after(state: State, move: Any) -> float:
    """The value of the position after a move, for the seat that follows."""
    follows = state.copy().play(move)
    if follows.is_over:
        return follows.scores[1 - state.turn]
    return solved(follows.cells, follows.turn)


def mistakes(net: Network, seat: int) -> int:
    """Positions that a network can reach in a seat, whatever the other does, in which it gives something away."""
    game, count, seen = net.game, 0, set()
    waiting = [State(game)]
    while waiting:
        state = waiting.pop()
        if state.is_over or state.cells in seen:
            continue
        seen.add(state.cells)
        if state.turn == seat:
            values = net.values(state)
            move = state.legal_moves[values.index(max(values))]
            count += -after(state, move) < solved(state.cells, state.turn)
            waiting.append(state.copy().play(move))
        else:
            waiting += [state.copy().play(move) for move in state.legal_moves]
    return count


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"trace": 0.5, "coherence": "exp"},
        {"tuples__share": True, "coherence": "none", "alpha": 0.5},
        {"learn": "sarsa", "epsilon_end": 0.0},
        {"learn": "q"},
        {"threads": 2},
        {"replay": 2, "memory": 1000, "games": 8_000},
        {"first_moves": True},
    ],
    ids=["td", "lambda", "shared", "sarsa", "q", "threads", "replay", "first moves"],
)
def test_tic_tac_toe_is_learned_perfectly(tmp_path: Path, changes: dict[str, Any]) -> None:
    run = trained(tmp_path / "run", iterations=5, **({"games": 20_000, "epsilon": 0.3} | changes))
    assert [mistakes(run.network, seat) for seat in (0, 1)] == [0, 0]


def test_2048_on_four_cells_is_played_as_well_as_possible(tmp_path: Path) -> None:
    game = make("2048(size=2)")

    @cache
    def best(cells: tuple[int, ...], turn: int) -> float:
        """What is still to be scored."""
        state = State.set_up(game, cells, turn)
        later = [state.copy().play(move) for move in state.legal_moves]
        worth = [s.scores[0] - state.scores[0] + (0.0 if s.is_over else best(s.cells, s.turn)) for s in later]
        return sum(p * x for p, x in zip(state.odds.values(), worth, strict=True)) if state.is_chance else max(worth)

    run = trained(tmp_path / "run", "2048(size=2)", 3, games=10_000, epsilon=0.0)
    room, games = run.network.room(1, 5), 20_000
    run.network.play(room, run._rule(1.0, learns=False), games)
    # A game's score has a standard deviation below 30: the mean is off by more than 1 once in a million times.
    assert room.totals[0] / games == pytest.approx(best((0, 0, 0, 0), -1), abs=1.0)


def test_every_seat_of_three_learns_from_its_own_moves(tmp_path: Path, compiled_in_soak: None) -> None:
    made = trained(tmp_path / "run", "nim(heaps=(2, 3), players=3)", 2, games=200)
    assert np.isfinite(made.network.weights).all()
    assert made.network.weights.reshape(3, -1).any(axis=1).all()


# ---- runs ----


def test_step_sizes_change_after_a_while() -> None:
    config = TdConfig("tic_tac_toe", alpha=2.0, alpha_end=0.5, alpha_hold=0.5)
    assert [config.alpha_at(progress) for progress in (0.0, 0.5, 0.75, 1.0)] == pytest.approx([2.0, 2.0, 1.0, 0.5])
    assert TdConfig("tic_tac_toe", alpha=2.0, alpha_hold=1.0).alpha_at(1.0) == 2.0


def test_a_run_repeats_and_resumes_exactly(tmp_path: Path) -> None:
    whole = trained(tmp_path / "whole", iterations=3, games=500, alpha_end=0.1, length__iterations=3)
    trained(tmp_path / "parts", iterations=3, games=500, alpha_end=0.1)
    assert (training.td(GAME, out=tmp_path / "parts", resume=True).network.weights == whole.network.weights).all()
    # Killed after the second iteration: only its checkpoint is there.
    first = training.td(
        GAME, out=tmp_path / "killed", changes={"games": 500, "alpha_end": 0.1, "length.evaluate": 0}, iterations=3
    )
    first.iterate(), first.iterate()
    first.close()
    again = training.resume(tmp_path / "killed")
    again.go()
    assert (again.network.weights == whole.network.weights).all()  # type: ignore[attr-defined]
    assert (again.network.table == whole.network.table).all()  # type: ignore[attr-defined]


def test_a_run_that_is_stopped_in_its_first_iteration_begins_it_again(tmp_path: Path) -> None:
    changes = {"games": 2000, "length.evaluate": 0, "tuples.initial": 0.5}
    run = training.td(GAME, out=tmp_path / "stopped", changes=changes, iterations=1)
    run.go(lambda event: run.stop() if isinstance(event, Progress) else None)
    assert run.iteration == run.games == 0
    training.resume(tmp_path / "stopped").go()
    whole = trained(tmp_path / "whole", games=2000, tuples__initial=0.5)
    assert (Network.load(tmp_path / "stopped").net.weights == whole.network.weights).all()


def test_a_setting_that_a_resumed_run_cannot_change_is_named(tmp_path: Path) -> None:
    trained(tmp_path / "run", games=10, tuples__count=3)
    changes = {"tuples.count": 4, "tuples.share": True, "games": 20}
    with pytest.raises(BadParameter) as caught:
        training.td(GAME, out=tmp_path / "run", changes=changes, resume=True)
    assert "has tuples.count=3 (now 4), tuples.share=False (now True), which cannot be changed" in str(caught.value)


def test_memory_that_runs_out_is_told_with_what_a_resumed_run_can_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = training.td(GAME, out=tmp_path / "run", changes={"games": 100, "length.evaluate": 0}, iterations=1)

    def greedy(*args: Any) -> Any:
        raise MemoryError

    monkeypatch.setattr(run.network, "room", greedy)
    with pytest.raises(MeijinError, match=r"out of memory on cpu.*\(MemoryError\); lower threads, memory.* --resume"):
        run.go()
    changes = {"threads": 2, "memory": 10, "horizon": 2, "at_once": 9}
    training.resume(tmp_path / "run", changes=changes).go()


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="processes cannot be killed so here")
def test_a_process_that_is_killed_in_an_iteration_resumes_exactly(tmp_path: Path) -> None:
    options = ("--set=games=20000", "--set=length.evaluate=0", "--set=alpha_end=0.1", "--iterations=6")
    command = [sys.executable, "-m", "meijin", "train", GAME, "td", "--out", str(tmp_path / "killed"), *options]
    with subprocess.Popen([*command, "--json"], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        told = next(line for line in process.stdout if "iteration_done" in line)
        process.kill()
    assert process.returncode == -signal.SIGKILL and json.loads(told)["iteration"] == 1
    before = Network.load(tmp_path / "killed").facts
    assert 1 <= before["iteration"] < 6 and before["games"] == before["iteration"] * 20_000
    good("train", GAME, "td", "--out", tmp_path / "killed", "--resume")
    whole = trained(tmp_path / "whole", iterations=6, games=20_000, alpha_end=0.1)
    found = Network.load(tmp_path / "killed")
    assert (found.net.weights == whole.network.weights).all() and found.facts["games"] == 120_000


def test_games_are_counted_as_they_are_played(tmp_path: Path) -> None:
    clock = [0.0]
    run = training.td(
        GAME, out=tmp_path / "run", changes={"length.evaluate": 0}, seconds=10, began=0.0, now=lambda: clock[0]
    )
    told: list[Progress] = []

    def handler(event: Any) -> None:
        if isinstance(event, Progress):
            told.append(event)
            clock[0] = 20.0  # the time is up after the first slice

    shown = Shown(run.game, ())
    run.go(handler)
    shown(told[0])
    assert shown.now.startswith("self-play  games 1  moves/s ")
    assert [event.metrics["games"] for event in told] == [1] and told[0].metrics["moves_per_second"] > 0
    assert Network.load(tmp_path / "run").facts["games"] == 1
    assert "; 1 game\n" in good("td", "show", tmp_path / "run")
    again = training.resume(tmp_path / "run", changes={"games": 50}, iterations=3)
    assert isinstance(again, TdRun)
    again.go()
    assert again.games == Network.load(tmp_path / "run").facts["games"] == 101


def test_an_agent_plays_what_was_learned(tmp_path: Path) -> None:
    trained(tmp_path / "run", iterations=2, games=20_000, epsilon=0.3)
    game = make(GAME)
    state = State(game).play_line("a1 b1 a2 b2")  # X wins with a3
    for text in ('td("{}")', 'nply(td("{}"), depth=2)', 'mcts_wrap(td("{}"), simulations=50)'):
        assert build(text.format(tmp_path / "run"), game).analyse(state).moves[0].move.name == "a3"
    check_agent(f'td("{tmp_path / "run"}")', game)
    agent = build(f'td("{tmp_path / "run"}")', game)
    opening = agent.analyse(State(game))
    assert math.tanh(sum(part for _, part in agent.reasons(State(game), opening.best))) == pytest.approx(
        opening.moves[0].value[0],
        abs=1e-5,  # type: ignore[index]
    )
    told = f"adds most to the value of {opening.moves[0].move} "
    assert opening.note.startswith("the tuple of cells a3 b3 c3 a2 ")  # its only tuple is the board
    assert told in opening.note


def test_a_game_that_only_begins_otherwise_is_played_too(tmp_path: Path) -> None:
    net = drawn(make("cube(twists=13, spread=True)"), 0).save(tmp_path / "net.safetensors")
    assert build(f'td("{net}")', make("cube(twists=2)")).unfit(make("cube(twists=3, max_moves=5)")) is None
    with pytest.raises(BadParameter, match="trained for cube"):
        build(f'td("{net}")', make("cube(size=3)"))


def test_a_config_may_write_the_game_in_another_way(tmp_path: Path) -> None:
    made = training.td(GAME, out=tmp_path / "run", config={"game": f"{GAME}(width=3)"})
    assert made.config.game == GAME


def test_the_command_trains_and_the_agent_plays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for method in ("td", "sarsa", "q"):
        said = good("train", GAME, method, "--iterations=1", "--set=games=200", "--set=length.evaluate=0")
        assert f'{method}("runs/tic_tac_toe-{method}")' in said
    said = good("inspect", GAME, "--agent", 'td("runs/tic_tac_toe-td")')
    assert "a3 b3 c3 a2 b2 c2 a1 b1 c1" in said and "sum" in said
    told = json.loads(good("inspect", GAME, "--agent", 'q("runs/tic_tac_toe-q")', "--json"))
    assert set(told["reasons"]) == {move.name for move in make(GAME).moves}
    said = good("td", "show", "runs/tic_tac_toe-td")
    assert "1 tuple, seen in 8" in said and "200 games" in said
    assert said.count("#") == 9  # the only tuple is the board
    assert json.loads(good("td", "show", "runs/tic_tac_toe-sarsa", "--json"))["learn"] == "sarsa"
    assert "not an option of sarsa" in run("train", GAME, "sarsa", "--warm", "random").stderr


@pytest.mark.parametrize(
    ("game", "changes", "said"),
    [
        (GAME, {"tuples.cells": ["a1 d4"]}, "tic_tac_toe has no cell 'd4' (in 'a1 d4')"),
        (GAME, {"tuples.cells": ["a1 a1"]}, "'a1 a1' must name one or more different cells"),
        (GAME, {"tuples.length": 10}, "tuples.length=10: tic_tac_toe has 9 cells that can change"),
        (GAME, {"tupels.length": 3}, "unknown section 'tupels'; did you mean 'tuples'?"),
        (GAME, {"lambda": 0.5}, "trace"),
        (GAME, {"tuples.initial": 2}, "tuples.initial=2: choose above -1 and below 1"),
        ("2048", {"output": "tanh"}, "output=tanh: the scores of 2048 have no bounds"),
        ("2048", {"tuples.share": True}, "2048 has 1 seats, not two"),
        ("2048", {"tuples.stages": [12, 11]}, "must ascend"),
        ("2048", {"tuples.length": 9, "tuples.count": 4}, "GiB are free; use shorter or fewer tuples"),
        ("2048", {"tuples.cells": [BOARD]}, "about 10^20 weights need "),
        ("go", {"tuples.length": 40}, "GiB are free; use shorter or fewer tuples"),
        ("gomoku(size=25)", {"tuples.length": 620}, "weights need about 10^"),
        ("connect_four", {"tuples.count": 10**9, "tuples.length": 9}, "GiB are free; use shorter or fewer tuples"),
        (
            GAME,
            {"replay": 1, "memory": 10**9},
            "memory=1,000,000,000 remembered moves need 134.1 GiB, and 8.0 GiB are free; lower memory",
        ),
        (
            GAME,
            {"replay": 1, "memory": 10**7, "threads": 100},
            "memory=10,000,000 remembered moves need 134.1 GiB, and 8.0 GiB are free; lower memory",
        ),
        (
            GAME,
            {"trace": 1, "horizon": 10**11},
            "positions that an error reaches need 14,901.2 GiB, and 8.0 GiB are free; lower horizon",
        ),
        (GAME, {"threads": 10**9}, "threads=1,000,000,000 need "),
        (GAME, {"tuples.symmetries": 9}, "tuples.symmetries=9: tic_tac_toe has 8 symmetries"),
        ("hex(size=3)", {"tuples.symmetries": 3}, "has 2 symmetries that leave the seats as they are"),
        (GAME, {"tuples.stages": [99]}, "tuples.stages=[99]: the cells of tic_tac_toe have values up to 2"),
        (GAME, {"tuples.values": 1}, "tuples.values=1: all values of a cell would look alike; use 0"),
        (GAME, {"features.hidden": 4}, "features.hidden=4: tuples have no hidden units; set features.by"),
    ],
)
def test_bad_settings_are_refused_before_training(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, game: str, changes: Any, said: str
) -> None:
    monkeypatch.setattr(sizes, "free_memory", lambda: 8 * 2**30)
    with pytest.raises(BadParameter) as caught:
        training.td(game, out=tmp_path / "run", changes=changes)
    assert said in str(caught.value)
    assert not (tmp_path / "run").exists()


def test_other_checkpoints_are_refused(tmp_path: Path) -> None:
    net = drawn(make(GAME), 0)
    path = net.save(tmp_path / "net.safetensors")
    with pytest.raises(BadParameter, match="the network was trained for tic_tac_toe"):
        build(f'td("{path}")', make("connect_four"))
    with pytest.raises(BadParameter, match=r"was trained by td, not by sarsa; play it with td\("):
        build(f'sarsa("{path}")', make(GAME))
    with pytest.raises(MeijinError, match="holds a net of kind 'td'"):
        build(f'zero("{path}")', make(GAME))


def test_a_run_becomes_a_champion_that_plays_without_pytorch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEIJIN_DATA", str(tmp_path / "data"))
    monkeypatch.setattr(files, "PACKAGED", tmp_path / "none")
    monkeypatch.setattr(files, "torch_missing", lambda: "torch")
    game = make("2048(size=2)")
    trained(tmp_path / "run", str(game), 1, games=200, epsilon=0.0)
    path = make_champion(tmp_path / "run", measures=["score(games=2)"], workers=0)
    said = files.about(path)
    assert said is not None and said["facts"]["games"] == 200 and said["facts"]["strength"][0]["depth"] == AHEAD
    state = State(game).play_line("a1=2 b2=2")
    agent = build("champion", game)
    assert agent.analyse(state).moves[0].move == build(f'td("{path}", depth={AHEAD})', game).act(state)
    weak = build("champion(level=1, seed=1)", game)
    assert len({weak.act(state) for _ in range(40)}) > 1  # nearly every second move is random
