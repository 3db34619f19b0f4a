"""Who owns each cell in the end: the rule, the record of self-play, positions, and the heads that foretell it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("safetensors")

from safetensors.torch import load_file, save_file  # noqa: E402

from meijin.core import compile as compiling  # noqa: E402
from meijin.core import kernels  # noqa: E402
from meijin.core.catalogue import make  # noqa: E402
from meijin.core.errors import BadParameter, MeijinError  # noqa: E402
from meijin.core.game import Game  # noqa: E402
from meijin.core.rng import streams  # noqa: E402
from meijin.core.state import State  # noqa: E402
from meijin.games.go import final_score  # noqa: E402
from meijin.learning.nets.config import NetConfig  # noqa: E402
from meijin.learning.zero.config import TrainingConfig  # noqa: E402
from meijin.learning.zero.inference import InferenceNet  # noqa: E402
from meijin.learning.zero.learner import Learner  # noqa: E402
from meijin.learning.zero.nets import Net  # noqa: E402
from meijin.learning.zero.positions import UNKNOWN, Positions, Symmetries, Unpacker, harvest, imitated  # noqa: E402
from meijin.learning.zero.replay import deduplicate  # noqa: E402
from meijin.learning.zero.selfplay import SelfPlay  # noqa: E402
from meijin.search.forest import Settings, layout  # noqa: E402
from meijin.training.zero_run import ZeroRun  # noqa: E402
from plain_forest import PlainForest  # noqa: E402
from test_zero_run import config, rows  # noqa: E402

OTHELLO = "othello(size=4)"
HEADS = NetConfig(blocks=1, channels=8, ownership=True, score=True)


@pytest.fixture(autouse=True)
def interpreted(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Plain Python: to compile these games takes longer than to play a few of them."""
    monkeypatch.setattr(compiling, "JIT", False)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def finished(game: Game, count: int, seed: int = 3) -> list[State]:
    """So many random games, played to their end."""
    states = game.states(count)
    moves, probs = kernels.buffers(game)
    with np.errstate(over="ignore"):
        game.kernel(kernels.random_walks)(states, game.longest, streams(seed, count), moves, probs)
    return [State(game, record) for record in states]


def owners_of(state: State) -> np.ndarray:
    out = np.zeros(len(state.game.board.cells), np.int8)
    state.game.kernel(kernels.owners)(state.records, 0, out)
    return out


def lines(game: Game, count: int, seed: int = 3) -> list[list[int]]:
    """The moves of random games."""
    found, rng = [], np.random.default_rng(seed)
    for _ in range(count):
        state = State(game)
        while not state.is_over:
            state.play(state.legal_moves[rng.integers(len(state.legal_moves))])
        found.append([int(move) for move in state.history])
    return found


# ---- the rule ----


@pytest.mark.parametrize(
    "name", ["go(size=4, komi=0.5)", "go(size=5)", "go(size=4, scoring='territory', komi=0.0, suicide=True)"]
)
def test_owners_of_a_finished_game_of_go_add_up_to_its_score(name: str) -> None:
    game, seen = make(name), set()
    for state in finished(game, 60):
        before, cells = state.record.tobytes(), np.array(state.cells)
        owners = owners_of(state)
        assert state.is_over and state.record.tobytes() == before
        assert (owners[cells > 0] == cells[cells > 0] - 1).all()  # a stone's point is its colour's
        if game.params["scoring"] == "area":
            lead = int((owners == 0).sum()) - int((owners == 1).sum())
        else:
            held = owners[cells == 0]
            prisoners = state.record.prisoners
            lead = int((held == 0).sum()) - int((held == 1).sum()) + int(prisoners[0]) - int(prisoners[1])
        margin = lead - game.params["komi"]
        assert margin == final_score(state) and np.sign(margin) == state.scores[0]
        seen |= set(owners.tolist())
    assert seen == {-1, 0, 1}


def test_owners_of_a_finished_game_of_othello_are_its_discs() -> None:
    for state in finished(make(OTHELLO), 60):
        owners = owners_of(state)
        assert owners.tolist() == [int(cell) - 1 for cell in state.cells]
        assert np.sign((owners == 0).sum() - (owners == 1).sum()) == state.scores[0]


def test_only_some_games_tell() -> None:
    assert make("hex").owners is None
    with pytest.raises(ValueError, match="hex has no rule `owners`"):
        make("hex").kernel(kernels.owners)


# ---- the record of self-play ----


def by_margin() -> Game:
    """Othello whose score is the share of discs, so that a position's outcome tells whether its owners are right."""
    game = make(OTHELLO)
    cells, area = game.cells, 16

    def score(s: Any, scores: Any) -> None:
        out = np.zeros(area)
        cells(s, out)
        scores[0] = ((out == 1).sum() - (out == 2).sum()) / area
        scores[1] = -scores[0]

    return game.changed(score=score)


def moody(state: State) -> tuple[Any, Any]:
    """Opinions that differ from position to position."""
    seen = float(np.array(state.cells) @ np.cos(np.arange(len(state.cells))))
    return np.sin(seen * np.arange(state.game.num_moves)), np.sin(9 * seen + np.arange(2) * np.pi)


def right(found: Positions) -> torch.Tensor:
    """Which rows know their owners; those that do must add up to the outcome."""
    unknown = (found.owners == UNKNOWN).all(1)
    margin = (found.owners == 0).sum(1) - (found.owners == 1).sum(1)
    assert torch.equal(margin[~unknown].float() / 16, found.outcomes[~unknown, 0].float())
    assert not (found.owners[~unknown] < -1).any()
    return ~unknown


def test_self_play_knows_the_owners_of_games_played_to_the_end() -> None:
    settings = Settings(simulations=2, warm=9, cap=12, resign=-0.9, play_on=0.5)
    forest = PlainForest(by_margin(), 4, settings, moody)
    forest.steps(180)
    found, stats = harvest(forest, 64), forest.arrays.stats.sum(0)  # type: ignore[arg-type]
    known = right(found)
    first = found.facts[:, 1] == 0  # one row a game
    cut, resigned = int(stats[layout.CUT]), int(stats[layout.RESIGNED])
    assert cut > 0 and resigned > 0 and int(known[first].sum()) > 0
    assert int((~known[first]).sum()) == cut + resigned and int(first.sum()) == stats[layout.GAMES]
    assert torch.equal(known[1:] | first[1:], known[:-1] | first[1:])  # a game's positions all know, or none does


@pytest.mark.parametrize("slots", [2, 5])
def test_owners_stay_right_when_slots_are_used_again(slots: int) -> None:
    """Rings shorter than a game and hardly longer, harvests that come late, and games of which nothing is kept."""
    settings = Settings(simulations=3, fast_simulations=1, full_share=0.1, warm=9)
    forest = PlainForest(by_margin(), 3, settings, moody, slots=slots)
    known = 0
    for _ in range(4):
        forest.steps(80)
        found = harvest(forest, 64)  # type: ignore[arg-type]
        assert right(found).all()
        known += len(found)
    assert known > 15 and forest.arrays.stats[:, layout.LOST].sum() > 0


def test_games_without_the_rule_pay_nothing() -> None:
    game = make("tic_tac_toe")
    forest = PlainForest(game, 2, Settings(simulations=2, warm=9), slots=32)
    assert forest.arrays.owners.shape == (2, 32, 1)
    forest.steps(40)
    found = harvest(forest, 64)  # type: ignore[arg-type]
    assert len(found) > 9 and found.owners.shape == (len(found), 0)
    one = Positions.empty(game, 64, 1)
    assert one.owners.nbytes == 0 and Positions.empty(make(OTHELLO), 64, 1).owners.tolist() == [[UNKNOWN] * 16]


# ---- positions ----


def test_imitated_games_tell_their_owners_where_they_ended(tmp_path: Path) -> None:
    game = make(OTHELLO)
    whole, other = lines(game, 2)
    found = imitated(game, [(whole, (1.0, -1.0), 0), (other[:-1], (0.0, 0.0), 0)], 64)
    end = owners_of(State(game).play_line(whole))
    assert (found.owners[: len(whole)].numpy() == end).all() and (found.owners[len(whole) :] == UNKNOWN).all()

    found.save(tmp_path / "a.safetensors")
    for mine, theirs in zip(found, Positions.load(tmp_path / "a.safetensors", game), strict=True):
        assert torch.equal(mine, theirs)
    tensors = load_file(tmp_path / "a.safetensors")
    save_file({**tensors, "owners": tensors["owners"][:, 1:].contiguous()}, tmp_path / "b.safetensors")
    with pytest.raises(MeijinError, match="owners does not fit othello"):
        Positions.load(tmp_path / "b.safetensors", game)
    del tensors["owners"]
    save_file(tensors, tmp_path / "c.safetensors")  # as it was before there were owners
    assert (Positions.load(tmp_path / "c.safetensors", game).owners == UNKNOWN).all()


def test_of_equal_positions_the_newest_owners_count() -> None:
    game = make(OTHELLO)
    one, other = lines(game, 2)
    assert one != other
    found = deduplicate(imitated(game, [(one, (1.0, -1.0), 0), (other, (-1.0, 1.0), 0)], 64))
    start = int((found.facts[:, 1] == 0).nonzero())
    assert found.outcomes[start].tolist() == [0, 0]
    assert found.owners[start].tolist() == owners_of(State(game).play_line(other)).tolist()


def test_owners_turn_with_the_board() -> None:
    """Law: the owners of the image of a game are the image of its owners."""
    game = make("go(size=3)")
    symmetries, unpack = Symmetries(game, "cpu"), Unpacker(game, "cpu")
    (line,) = lines(game, 1, seed=2)
    found = imitated(game, [(line, (0.0, 0.0), 0)], 64)
    assert len(set(found.owners[0].tolist())) > 1 and symmetries.count == 8
    planes = unpack(found.bits, found.numbers)
    for k in range(8):
        which = torch.full((len(found),), k)
        turned, moves = symmetries.apply(which, planes, found.moves.long())
        owners = symmetries.of_cells(which, found.owners)
        image = imitated(game, [([int(symmetries.moves[k, move]) for move in line], (0.0, 0.0), 0)], 64)
        assert torch.equal(owners, image.owners)
        assert torch.equal(turned, unpack(image.bits, image.numbers))
        assert torch.equal(moves.sort(1).values, image.moves.long().sort(1).values)


# ---- the heads ----


def nobody(s: Any, owners: Any) -> None:
    owners[:] = -1


def with_owners(name: str) -> Game:
    return make(name).changed(owners=nobody)


@pytest.mark.parametrize("name", ["go(size=5)", "yavalath", "einstein"])
def test_the_head_is_read_at_the_cells(name: str) -> None:
    """On squares, around holes, and beside trays, of which a tower has nothing to say."""
    game = with_owners(name)
    net = Net(game, HEADS).eval()
    torch.nn.init.normal_(net.ownership.weight)
    seen: list[Any] = []
    net.ownership.register_forward_hook(lambda module, inputs, output: seen.append(output))
    x = torch.rand(3, game.num_planes, len(game.board.cells))
    with torch.no_grad():
        found = net.outputs(x)
        assert len(seen) == 1
        net(x)
    assert len(seen) == 1  # playing does without
    assert found.score.shape == (3,) and found.ownership.shape == (3, len(game.board.grid_index))
    for cell, place in enumerate(game.board.grid_index):
        row, column = divmod(place, game.board.grid[1])
        assert torch.equal(found.ownership[:, cell], torch.tanh(seen[0][:, 0, row, column]))
    for a, b in zip(net(x), InferenceNet(net)(x), strict=True):
        assert (a - b).abs().max() < 1e-4


def test_one_head_for_every_size() -> None:
    net = Net(make("othello(size=6)"), NetConfig(blocks=2, channels=8, pooling=True, ownership=True, score=True))
    larger = net.for_game(make("othello"))
    found = larger.outputs(torch.rand(2, 4, 64))
    assert larger.ownership is net.ownership and larger.value.score is net.value.score
    assert found.ownership.shape == (2, 64)


def test_heads_that_a_game_cannot_have_are_named(tmp_path: Path) -> None:
    for name, shape, problem in (
        ("hex", {"ownership": True}, "ownership=true: hex does not say who owns its cells"),
        ("nim", {"score": True}, "score=true: nim does not say"),
        (OTHELLO, {"ownership": True, "kind": "mlp"}, "a perceptron has no cells"),
        (OTHELLO, {"score": "yes"}, "score='yes': choose true or false"),
    ):
        with pytest.raises(BadParameter, match=problem):
            Net(make(name), NetConfig.from_dict(shape))
    with pytest.raises(BadParameter, match="turns its board to the mover"):
        Net(with_owners("minishogi"), HEADS)
    assert Net(make(OTHELLO), NetConfig(kind="mlp", score=True)).outputs(torch.rand(2, 4, 16)).score is not None
    with pytest.raises(BadParameter, match="ownership_weight = -1: must be at least 0"):
        config(**{"training.ownership_weight": -1})
    with pytest.raises(BadParameter, match="tic_tac_toe does not say"):
        ZeroRun(tmp_path / "r", config(**{"net.ownership": True}))
    assert not (tmp_path / "r").exists()


# ---- learning ----


def learner(game: Game, **changes: Any) -> Learner:
    torch.manual_seed(1)
    return Learner(Net(game, HEADS), TrainingConfig(batch=64, warmup=0, rate=5e-3, ema=0, mixed=False, **changes))


def test_losses_are_those_of_the_mover_and_of_known_owners_alone() -> None:
    game = make(OTHELLO)
    (line,) = lines(game, 1)
    found = imitated(game, [(line, (1.0, -1.0), 0), (line[:-2], (0.0, 0.0), 0)], 64)
    teacher = learner(game, symmetries=False)
    teacher.net.eval()
    parts = teacher.losses(found)
    end, wrong, far = owners_of(State(game).play_line(line)), [], []
    outputs = teacher.net.outputs(teacher.lessons[0].unpack(found.bits, found.numbers))
    for row in range(len(line)):
        mover = int(found.facts[row, 0])
        target = np.where(end < 0, 0, np.where(end == mover, 1, -1))
        wrong.append(((outputs.ownership[row].detach().numpy() - target) ** 2).mean())
        far.append((outputs.score[row].item() - target.mean()) ** 2)
    assert parts["ownership"].item() == pytest.approx(np.mean(wrong), abs=1e-5)
    assert parts["score"].item() == pytest.approx(np.mean(far), abs=1e-5)
    none = teacher.losses(found[len(line) :])
    assert none["ownership"].item() == none["score"].item() == 0 and none["policy"].item() > 0
    assert "ownership" not in Learner(Net(game, NetConfig(blocks=1, channels=8)), TrainingConfig()).losses(found)


def test_self_play_teaches_the_heads() -> None:
    game = make(OTHELLO)
    teacher = learner(game)
    play = SelfPlay(teacher.net, 16, Settings(simulations=2, warm=4, alpha=0.5), seed=3)
    with np.errstate(over="ignore"):
        found = play.play(300)
    assert (found.owners[:, 0] != UNKNOWN).all()
    before, _, after = (teacher.fit(found, 25, 0.0) for _ in range(3))
    assert after["ownership"] < 0.9 * before["ownership"] and after["score"] < 0.9 * before["score"]
    assert np.isfinite(list(after.values())).all()


def test_a_run_with_the_heads_goes_on_where_it_was(tmp_path: Path) -> None:
    changes = {
        "game": OTHELLO,
        "net": {"size": "nano", "blocks": 1, "channels": 8, "ownership": True, "score": True, "moves_left": True},
        "search.simulations": 2,
        "selfplay.overlap": False,
    }
    with np.errstate(over="ignore"):
        run = ZeroRun(tmp_path / "r", config(**changes))
        run.iterate()
        again = ZeroRun(tmp_path / "r", resume=True)
        again.iterate()
    assert again.iteration == 2 and again.learner.net.config.ownership
    for row in rows(tmp_path / "r"):
        assert float(row["loss_ownership"]) > 0 and float(row["loss_score"]) > 0 and float(row["loss_moves_left"]) > 0
