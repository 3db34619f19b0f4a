"""The agents that play with a zero net: what they say, what they keep, and what they refuse."""

from __future__ import annotations

import dataclasses
import itertools
import math
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("safetensors")

from meijin.agents.catalogue import build  # noqa: E402
from meijin.agents.champion import CHANCE_MOVES, FULL, LEVELS, Champion  # noqa: E402
from meijin.agents.solving import shared_solver  # noqa: E402
from meijin.agents.zero import OfNet  # noqa: E402
from meijin.core.agent import Limit  # noqa: E402
from meijin.core.catalogue import make  # noqa: E402
from meijin.core.errors import BadParameter, MeijinError  # noqa: E402
from meijin.core.rng import stream  # noqa: E402
from meijin.core.state import State  # noqa: E402
from meijin.learning import files  # noqa: E402
from meijin.learning.nets.config import NetConfig  # noqa: E402
from meijin.learning.nets.plan import Plan  # noqa: E402
from meijin.learning.nets.weights import Weights  # noqa: E402
from meijin.learning.zero import checkpoint  # noqa: E402
from meijin.learning.zero.nets import Net  # noqa: E402
from meijin.learning.zero.raw_net import RawNet  # noqa: E402
from meijin.search.forest import Forest, Settings, layout  # noqa: E402
from meijin.search.forest.selection import halving_table  # noqa: E402

SMALL = NetConfig(blocks=1, channels=8, policy_channels=4, value_channels=2, value_hidden=8)
GAME = "tic_tac_toe"
UNBOOKED = "4 4 4 4 4 2 1 6 6"  # more stones than the solver's book has, and nothing that is found at once


def small_net(name: str = GAME, **changes: Any) -> Net:
    torch.manual_seed(3)
    net = Net(make(name), dataclasses.replace(SMALL, **changes)).eval()
    for head in (net.policy.planes, net.policy.flat):
        if head is not None:  # opinions worth the name
            torch.nn.init.normal_(head.weight, std=0.5)
    return net


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run's directory with one checkpoint."""
    folder = tmp_path_factory.mktemp("zero") / "run"
    checkpoint.save(folder / "checkpoints" / files.LATEST, small_net())
    return folder


def agent(run: Path, **options: Any) -> Any:
    words = "".join(f", {name}={value!r}" for name, value in options.items())
    return build(f"zero({str(run)!r}{words})", make(GAME))


# ---- what it says ----


def test_an_analysis_says_everything(run: Path) -> None:
    state = State(make(GAME)).play_line("b2")
    found = agent(run, simulations=50).analyse(state)
    assert found.turn == 1 and found.simulations == 50 and 1 <= found.depth <= 8 and found.nodes <= 51
    assert sum(info.visits or 0 for info in found.moves) == 50  # looking at the root is no simulation
    assert sorted(int(info.move) for info in found.moves) == [int(move) for move in state.legal_moves]
    assert sum(info.prior or 0.0 for info in found.moves) == pytest.approx(1, abs=1e-5)
    priors = dict(zip(map(int, state.legal_moves), RawNet(small_net()).priors(state), strict=True))
    visits = [info.visits or 0 for info in found.moves]
    assert visits == sorted(visits, reverse=True)
    total = np.zeros(2)
    for info in found.moves:
        assert info.prior == pytest.approx(priors[int(info.move)], abs=1e-5)
        assert info.pv[0] == info.move
        state.copy().play_line(list(info.pv))  # legal all the way
        if info.visits:
            assert info.value is not None and all(-1 <= v <= 1 for v in info.value)
            total += np.array(info.value) * info.visits
    assert found.value == pytest.approx(tuple(total / 50), abs=1e-6)
    assert len(found.pv) > 1


def test_equal_searches_are_equal(run: Path) -> None:
    state = State(make(GAME))
    one, other = (agent(run, simulations=40).analyse(state) for _ in range(2))
    assert [(m.move, m.visits, m.value) for m in one.moves] == [(m.move, m.visits, m.value) for m in other.moves]


def test_wins_and_saves_the_game_by_proof(run: Path) -> None:
    player = agent(run, simulations=60)
    found = player.analyse(State(make(GAME)).play_line("a1 b1 a2 b2"))
    assert found.best.name == "a3" and found.proven and found.value == (1.0, -1.0)
    assert found.moves[0].proven and found.simulations <= 60
    assert player.act(State(make(GAME)).play_line("a1 b2 a2")).name == "a3"


def test_values_of_finished_games_and_a_forced_move(run: Path) -> None:
    player, game = agent(run, simulations=20), make(GAME)
    assert player.value(State(game).play_line("a1 b1 a2 b2 a3")) == (1.0, -1.0)
    last = State(game).play_line("a1 a2 a3 b1 b2 c1 b3 c3")  # one cell is left
    found = player.analyse(last)
    assert len(found.moves) == 1 and found.moves[0].visits and player.act(last) == found.best
    with pytest.raises(MeijinError, match="game is over"):
        player.analyse(State(game).play_line("a1 b1 a2 b2 a3"))


def test_limits(run: Path) -> None:
    player, state = agent(run, simulations=4), State(make(GAME))
    assert player.analyse(state, Limit(simulations=9)).simulations == 9
    player.seed(1)
    found = player.analyse(state, Limit(simulations=400))  # far more than its tree was made for
    assert found.simulations == 400 and sum(info.visits or 0 for info in found.moves) == 400
    assert player._player.capacity > 64
    player.seed(1)
    found = player.analyse(state, Limit(seconds=0.2))
    assert found.simulations > 1 or found.proven
    for wrong in ("simulations=0", "c=-1.0", "seconds=-1.0"):
        with pytest.raises(BadParameter, match=wrong.split("=", maxsplit=1)[0]):
            build(f"zero({str(run)!r}, {wrong})")


def test_a_kept_tree_is_the_one_that_grew(run: Path) -> None:
    """What is known of a position when the game gets there is what the search before had found below that move."""
    player, state = agent(run, simulations=80), State(make(GAME))
    found = player.analyse(state)
    arrays = player._player.forest.arrays
    edge = next(e for e in arrays.edges[0, :9] if e["move"] == int(found.best))
    child = arrays.nodes[0, edge["child"]]
    below = arrays.edges[0, child["first"] : child["first"] + child["count"]].copy()
    state.play(found.best)
    player._player.look(state)
    kept = arrays.edges[0, : len(below)]
    for field in ("visits", "total", "prior", "move", "proven"):
        assert np.array_equal(below[field], kept[field]), field
    more = player.analyse(state)
    assert sum(info.visits or 0 for info in more.moves) == int(below["visits"].sum()) + more.simulations
    assert more.simulations == 80
    fresh = agent(run, simulations=80, reuse=False)
    fresh.analyse(State(make(GAME)))
    again = fresh.analyse(state)
    assert sum(info.visits or 0 for info in again.moves) == again.simulations == 80
    # another game, or a move taken back, begins afresh
    other = player.analyse(State(make(GAME)).play_line("c3"))
    assert sum(info.visits or 0 for info in other.moves) == 80


def test_newer_weights_are_played_with(run: Path) -> None:
    one, other = small_net(), small_net()
    torch.nn.init.normal_(other.policy.planes.weight, std=3.0)
    state, player = State(make(GAME)), OfNet(one, 8)
    before = player.analyse(state).moves
    player.load(other)
    after = {int(m.move): m.prior for m in player.analyse(state).moves}
    assert any(abs((m.prior or 0) - (after[int(m.move)] or 0)) > 0.01 for m in before)


# ---- seats and chance ----


def test_values_are_those_of_their_seats(interpreted: None) -> None:
    """A net speaks from the mover's view; with three seats nothing can be had by changing a sign."""
    name = "nim(heaps=(3, 4, 5), players=3)"
    net, says = small_net(name), (0.5, 0.1, -0.6)
    torch.nn.init.zeros_(net.value.values.weight)
    net.value.values.bias.data = torch.tensor([math.atanh(v) for v in says])
    state = State(net.game)
    state.play(state.legal_moves[0])
    assert state.turn == 1
    found = OfNet(net, 1).analyse(state)  # one simulation: the net's word for a position in which seat 2 moves
    low, high = net.game.score_range
    middle, half = (high + low) / 2, (high - low) / 2
    expected = tuple(middle + half * says[(seat - 2) % 3] for seat in range(3))
    assert found.moves[0].value == pytest.approx(expected, abs=1e-5)
    assert found.value == found.moves[0].value and found.turn == 1
    assert RawNet(net).position(state) == pytest.approx(
        tuple(middle + half * says[(seat - 1) % 3] for seat in range(3)), abs=1e-5
    )


def test_chance_is_visited_by_its_odds(interpreted: None) -> None:
    net = small_net("einstein")
    state = State(net.game).roll(stream(1))
    player = OfNet(net, 100)
    found = player.analyse(state)
    arrays, checked = player._player.forest.arrays, 0
    for node in arrays.nodes[0, : found.nodes]:
        if node["turn"] < 0 and node["visits"] > 6:
            own = arrays.edges[0, node["first"] : node["first"] + node["count"]]
            assert own["prior"].sum() == pytest.approx(1, abs=1e-5)
            assert np.abs(own["visits"] - own["prior"] * node["visits"]).max() < 3
            checked += 1
    assert checked
    before_the_dice = State(net.game)
    if before_the_dice.is_chance:
        assert len(player.value(before_the_dice)) == 2


def test_a_seed_decides_what_is_seen_of_chance(interpreted: None) -> None:
    net = small_net("2048(size=2)")
    state, player = State(net.game).roll(stream(1)), OfNet(net, 40)

    def searched(seed: int) -> list[Any]:
        player.seed(seed)
        return [(info.visits, info.value) for info in player.analyse(state).moves]

    assert searched(1) == searched(1) != searched(2)


# ---- how the forest searches ----


def test_noise_is_mixed_in_once_a_move() -> None:
    game = make(GAME)
    settings = Settings(simulations=32, alpha=0.3, noise=0.25, temperature=1.0, warm=4)
    forest = Forest(game, 4, settings, selfplay=True, slots=64, seed=2)  # a net without opinions: all priors equal
    forest.step()
    forest.step()  # the root's answer has come, and a simulation is under way
    assert (forest.arrays.info[:, layout.READY] == 1).all()
    first = forest.arrays.edges[:, :9]["prior"].copy()
    assert first.sum(1) == pytest.approx(np.ones(4), abs=1e-5)
    assert (first >= 0.75 / 9 - 1e-6).all() and first.std() > 0.01
    assert not np.allclose(first[0], first[1])
    for _ in range(10):
        forest.step()
    assert np.array_equal(first, forest.arrays.edges[:, :9]["prior"])


@pytest.mark.parametrize(
    ("considered", "simulations", "expected"),
    [
        (16, 32, [0] * 16 + [1] * 8 + [2] * 4 + [3] * 4),
        (4, 8, [0] * 4 + [1, 1, 2, 2]),
        (2, 5, [0, 0, 1, 1, 2]),
        (1, 4, [0, 1, 2, 3]),
        (8, 4, [0] * 4),
        (3, 12, [0] * 3 + [1] * 3 + [2, 2, 3, 3, 4, 4]),
    ],
)
def test_sequential_halving_as_in_the_paper(considered: int, simulations: int, expected: list[int]) -> None:
    """The sequences of mctx's `get_sequence_of_considered_visits`."""
    assert halving_table(considered, simulations)[considered].tolist() == expected


# ---- raw nets ----


def test_policy_and_value_take_zero_checkpoints(run: Path) -> None:
    game = make(GAME)
    state = State(game).play_line("a1 b1 a2 b2")
    policy = build(f"policy({str(run)!r}, sample=False)", game).analyse(state)
    assert sum(info.prior or 0 for info in policy.moves) == pytest.approx(1)
    value = build(f"value({str(run)!r}, epsilon=0.0)", game).analyse(state)
    assert value.best.name == "a3" and value.moves[0].value == (1.0, -1.0)
    with pytest.raises(BadParameter, match="its net is one of tic_tac_toe"):
        build(f"policy({str(run)!r})", make("othello"))
    records = game.states(1)
    records[0] = state.record
    assert RawNet(small_net(), 4).moves(records)[0] == int(policy.best)


def test_raw_nets_number_moves_as_the_mover_sees_them() -> None:
    game = make(GAME)
    turned = game.changed(turned=(range(9), range(8, -1, -1)))
    plain = small_net()
    net = Weights(Plan(turned, plain.config), plain.weights().tensors)
    state, seen = State(game).play_line("a1"), State(turned).play_line("a1")
    given = dict(zip(map(int, state.legal_moves), RawNet(plain).priors(state), strict=True))
    found = dict(zip(map(int, seen.legal_moves), RawNet(net).priors(seen), strict=True))
    logits = {m: math.log(p) for m, p in given.items()}
    both = [m for m in found if 8 - m in logits]  # the mirrored cell is free as well
    for a, b in itertools.pairwise(both):
        assert math.log(found[a] / found[b]) == pytest.approx(logits[8 - a] - logits[8 - b], abs=1e-4)
    records = turned.states(1)
    records[0] = seen.record
    assert RawNet(net, 1).moves(records)[0] == max(found, key=lambda m: found[m])


# ---- what it refuses ----


def test_checkpoints_that_are_not_there_or_not_sound(run: Path, tmp_path: Path) -> None:
    def error(path: Path) -> str:
        with pytest.raises(MeijinError) as caught:
            build(f"zero({str(path)!r})")
        return str(caught.value)

    assert "give a run's directory or a checkpoint" in error(tmp_path / "nothing")
    (tmp_path / "new" / "checkpoints").mkdir(parents=True)
    assert "holds no checkpoint yet" in error(tmp_path / "new")
    data = (run / "checkpoints" / files.LATEST).read_bytes()
    short = tmp_path / "short.safetensors"
    short.write_bytes(data[:-20])
    assert "damaged" in error(short) and str(short) in error(short)
    flipped = tmp_path / "flipped.safetensors"
    flipped.write_bytes(data[:-3] + bytes([data[-3] ^ 64]) + data[-2:])
    assert "damaged" in error(flipped)
    text = tmp_path / "text.safetensors"
    text.write_text("no net at all")
    assert "damaged or not a safetensors file" in error(text)
    with pytest.raises(BadParameter, match=r"its net is one of tic_tac_toe: it is another game"):
        build(f"zero({str(run)!r})", make("othello"))


WITHOUT_TORCH = """
import sys
sys.modules["torch"] = sys.modules["safetensors"] = None  # importing them fails
import meijin
from meijin.core.state import State
state = State(meijin.make("tic_tac_toe")).play_line("a1 b1 a2 b2")
for agent in sys.argv[1:]:
    print(meijin.build(agent, state.game).act(state))
try:
    meijin.build("champion(device='cuda', exact=False)").act(State(meijin.make("connect_four")))
except meijin.MeijinError as error:
    print(error)
"""


def test_nets_play_without_torch(run: Path) -> None:
    """Only a GPU needs it, and says what to install, in words that are true in a clone too."""
    agents = [f"zero('{run}', simulations=30)", f"policy('{run}', sample=False)", f"value('{run}', epsilon=0.0)"]
    agents.append(f"policy_value('{run}', '{run}', simulations=30)")
    done = subprocess.run([sys.executable, "-c", WITHOUT_TORCH, *agents], capture_output=True, text=True, check=False)
    lines = done.stdout.splitlines()
    assert len(lines) == 5, done.stderr
    assert lines[0] == lines[2] == lines[3] == "a3" and lines[1] in ("a3", "b3", "c1", "c2", "c3")
    assert "device 'cuda' needs PyTorch" in lines[4] and "pip install torch" in lines[4]


def test_without_a_compiler_nets_play_as_well(run: Path) -> None:
    code = WITHOUT_TORCH.split("try:", maxsplit=1)[0]
    found = [
        subprocess.run(
            [sys.executable, "-c", code, f"zero('{run}', simulations=6)"],
            env={**os.environ, "MEIJIN_JIT": jit},
            capture_output=True,
            text=True,
            check=False,
        )
        for jit in "01"
    ]
    assert found[0].stdout == found[1].stdout == "a3\n", found[0].stderr


def test_a_net_that_is_asked_about_images_too_has_no_side_it_likes_better(tmp_path: Path) -> None:
    game, path = make(GAME), tmp_path / "net.safetensors"
    checkpoint.save(path, small_net())
    line = [int(move) for move in State(game).play_line("a1 b2").history]
    plain, fair = ({}, {})
    for options, found in (("", plain), (", symmetries=True", fair)):
        for symmetry in game.symmetries:
            if symmetry.swaps:
                continue
            state = State(game).play_line([symmetry.moves[move] for move in line])
            for kind in (f"policy('{path}', sample=False{options})", f"value('{path}', epsilon=0{options})"):
                infos = build(kind, game).analyse(state).moves
                back = {symmetry.moves[move]: move for move in range(game.num_moves)}
                said = {back[int(info.move)]: info.prior or info.value[0] for info in infos}
                found.setdefault(kind, []).append([said[move] for move in sorted(said)])
    for one, other in zip(plain.values(), fair.values(), strict=True):
        assert np.ptp(one, axis=0).max() > 100 * np.ptp(other, axis=0).max()


def test_images_are_seen_by_each_side_from_its_own(tmp_path: Path) -> None:
    game = make("minishogi")
    net = RawNet(small_net("minishogi"), symmetries=True)
    mirror = [s for s in game.symmetries if not s.swaps][1]
    for line in ("2e3d", "2e3d 4a3b"):
        played = State(game).play_line(line)
        state = State.set_up(game, list(played.cells), played.turn)
        cells = np.zeros(len(game.board.cells), int)
        cells[list(mirror.cells)] = state.cells
        other = State.set_up(game, cells.tolist(), state.turn)
        here = dict(zip((mirror.moves[int(m)] for m in state.legal_moves), net.priors(state), strict=True))
        there = dict(zip(map(int, other.legal_moves), net.priors(other), strict=True))
        assert here == pytest.approx(there, abs=1e-6)
        assert net.position(state) == pytest.approx(net.position(other), abs=1e-6)


# ---- champions ----


def test_champions_are_found_by_game_and_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEIJIN_DATA", str(tmp_path))
    monkeypatch.setattr(files, "PACKAGED", tmp_path / "none")
    assert "it has no champion yet" in (build("champion").unfit(make(GAME)) or "")
    folder = tmp_path / "champions"
    checkpoint.save(folder / "small.safetensors", small_net(), half=True)
    checkpoint.save(folder / "hex.safetensors", small_net("hex(size=5)", pooling=True), half=True)
    checkpoint.save(folder / ".small.safetensors", small_net(), half=True)  # one in the making
    (folder / "broken.safetensors").write_text("?")
    assert files.champion(make(GAME)) == folder / "small.safetensors"
    assert files.champion(make("hex(size=5)")) == files.champion(make("hex(size=7)")) == folder / "hex.safetensors"
    assert files.champion(make("hex(size=7, swap=True)")) is None  # nor does a net know rules that it never saw
    checkpoint.save(folder / "go.safetensors", small_net("go(size=5)", pooling=True), half=True)
    assert files.champion(make("go(size=7, komi=5)")) == folder / "go.safetensors"  # nets see what it is worth
    assert files.champion(make('go(size=7, superko="simple")')) is None
    assert files.champion(make("tic_tac_toe(width=4)")) is None  # without pooling a net knows one size
    assert files.champion(make("othello")) is None
    player = build("champion(simulations=30)", make(GAME))
    assert player.act(State(make(GAME)).play_line("a1 b1 a2 b2")).name == "a3"
    why = build("champion").unfit(make("othello"))
    assert why is not None and "tic_tac_toe" in why


def test_a_weaker_champion_decides_by_itself_how_long_to_think() -> None:
    game = make("connect_four")
    for given in ("level=11", "level=0", "level=2.5", "level=3, simulations=100", "level=3, seconds=1"):
        with pytest.raises(BadParameter, match="level="):
            build(f"champion({given})", game)
    agent = build("champion(level=3, seed=1)", game)
    assert agent.analyse(State(game), Limit(seconds=5)).simulations == Champion().scale(game)[2][0]
    chosen = {agent.act(State(game)) for _ in range(40)}
    assert len(chosen) > 1  # by chance one in far more than a million: the net's favourite has less than 70 %
    agent.seed(7)
    first = [agent.act(State(game)) for _ in range(5)]
    agent.seed(7)
    assert first == [agent.act(State(game)) for _ in range(5)]
    agent.seed(7)  # those who play by an analysis play the same
    found = [agent.analyse(State(game)) for _ in range(5)]
    assert not any(each.random for each in found)
    agent.seed(7)
    made = [agent.chosen(State(game), agent.analyse(State(game))) for _ in range(5)]
    assert first == [each.best for each in made] and all(len(each.moves) == 7 for each in made)
    assert [each.random for each in made] == [
        each.best != before.best for each, before in zip(made, found, strict=True)
    ]


def test_levels_rise_from_chance_to_full_strength() -> None:
    calibrated = [(files.PACKAGED / f"{name}{files.SUFFIX}", scale) for name, scale in files._scales().items()]
    by_kind = {"zero": [LEVELS], "td": [CHANCE_MOVES]}
    for path, scale in calibrated:
        by_kind[files.kind(path)].append(scale)
    assert calibrated and all(files.scale(path) == scale for path, scale in calibrated)
    for scale in by_kind["zero"]:
        thinking, chance = zip(*scale, strict=True)
        assert list(thinking) == sorted(thinking) and list(chance) == sorted(chance, reverse=True)
        assert len(set(map(tuple, scale))) == FULL - 1 and min(thinking) >= 1 and min(chance) > 0
    for scale in by_kind["td"]:
        assert list(scale) == sorted(set(scale), reverse=True) and len(scale) == FULL - 1
        assert min(scale) >= 0 and max(scale) <= 1


def test_a_champion_has_the_levels_of_its_game_and_one_of_your_own_those_of_all_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEIJIN_DATA", str(tmp_path))
    monkeypatch.setattr(files, "_scales", lambda: {"connect_four": [[7, 1.0]] * 9, "sim": [0.5] * 9})
    game = make("connect_four")
    assert build("champion(level=4)", game).analyse(State(game)).simulations == 7
    assert Champion().scale(make("sim")) == [0.5] * 9
    assert Champion().scale(make("othello")) == LEVELS and Champion().scale(make("nim")) == CHANCE_MOVES
    checkpoint.save(tmp_path / "champions" / "connect_four.safetensors", small_net("connect_four"), half=True)
    assert build("champion(level=4)", game).analyse(State(game)).simulations == LEVELS[3][0]


def test_a_champion_plays_what_is_solved_exactly() -> None:
    game = make("connect_four")
    start = State(game)
    found = build("champion(simulations=4)", game).analyse(start)
    assert found.proven and found.best.name == "4" and found.simulations == 0  # from the book: only the middle wins
    assert not build("champion(simulations=4, exact=False)", game).analyse(start).proven
    assert not build("champion(level=9)", game).analyse(start).proven
    # 9 stones are beyond the book, and leave too many empty cells for the time
    later = start.copy().play_line(UNBOOKED)
    assert build("champion(simulations=4)", game).analyse(later, Limit(seconds=0.2, simulations=4)).simulations


def test_a_net_of_ones_own_asks_the_solver_where_it_is_told_to(run: Path) -> None:
    state = State(make(GAME)).play("a1").play("b2")  # a draw
    told, plain = agent(run, simulations=4, exact=True).analyse(state), agent(run, simulations=4).analyse(state)
    assert told.proven and told.simulations == 0 and told.value == (0.0, 0.0)
    assert not plain.proven and plain.simulations == 4


def test_a_solver_that_takes_longer_than_expected_leaves_the_search_to_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    game = make("connect_four")
    solver, _ = shared_solver(game)
    monkeypatch.setattr(solver, "expected_seconds", lambda state: 0.0)
    later = State(game).play_line(UNBOOKED)
    found = build("champion(simulations=4)", game).analyse(later, Limit(seconds=0.02, simulations=4))
    assert found.moves and not found.proven
