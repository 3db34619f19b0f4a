"""Games as WebAssembly do what they do here. Node runs them; tests/soak/wasm.py tries every game."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from commands import good, run
from meijin.agents.catalogue import build
from meijin.agents.champion import Champion
from meijin.core.catalogue import make
from meijin.core.check import check_game
from meijin.core.errors import MeijinError
from meijin.core.state import State
from meijin.core.wasm import link, node
from meijin.core.wasm.module import Module
from meijin.search.mcts import MCTS
from meijin.web.wasm.bundle import Bundle, bundle
from wasm_compare import check_all

pytestmark = pytest.mark.skipif(node.missing() is not None, reason=str(node.missing()))

SCRIPT = node.SCRIPT.parent / "engine_local.js"


def ask(files: Bundle, folder: Path, *questions: Any) -> list[Any]:
    """What the page's engine answers."""
    for name, data in files.files.items():
        (folder / name).write_bytes(data)
    command = ["node", str(Path(__file__).with_name("local_engine.mjs")), SCRIPT.as_uri(), str(folder)]
    done = subprocess.run(command, input=json.dumps(questions), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return list(json.loads(done.stdout))


@pytest.mark.parametrize(
    ("expression", "searches"),
    [
        ("tic_tac_toe", ("mcts", "alphabeta", "forest")),
        ("2048(size=2)", ("maxn",)),
        pytest.param("2048(size=2)", ("mcts",), marks=pytest.mark.soak),
    ],
)
def test_random_games_perft_and_searches_are_the_same(expression: str, searches: tuple[str, ...]) -> None:
    check_all(expression, games=1000, counted=20_000, simulations=2000, searches=searches)


def test_check_tries_the_browser_on_demand() -> None:
    held = {law.name: law for law in check_game(make("tic_tac_toe"), games=2, gpu=False).laws}
    assert held["browser equals cpu"].count == 0
    held = {law.name: law for law in check_game(make("tic_tac_toe"), games=2, gpu=False, browser=True).laws}
    assert held["browser equals cpu"].count > 0


# ---- the page's engine ----


@pytest.fixture(scope="module")
def files() -> Bundle:
    return bundle([make("tic_tac_toe")])


AT = {"game": "tic_tac_toe", "moves": [4, 0]}


def test_the_engine_in_the_page_sees_what_the_state_sees(files: Bundle, tmp_path: Path) -> None:
    state = State(make("tic_tac_toe")).play_line([4, 0, 8])
    cells = [int(value) for value in state.cells]
    over = {"game": "tic_tac_toe", "moves": [0, 3, 1, 4, 2]}
    at, again, end, placed, bad = ask(
        files,
        tmp_path,
        ["look", {"game": "tic_tac_toe", "moves": [4, 0, 8]}],
        ["look", {"game": "tic_tac_toe", "position": state.position, "moves": []}],
        ["look", over],
        ["setup", "tic_tac_toe", cells, 1],
        ["look", {"game": "tic_tac_toe", "moves": [4, 4]}],
    )
    assert at["cells"] == cells == again["cells"]
    assert at["legal"] == [int(move) for move in state.legal_moves] == again["legal"]
    assert (at["turn"], at["last"], at["scores"]) == (1, [8], [0, 0])
    final = State(make("tic_tac_toe")).play_line(over["moves"])
    assert (end["turn"], end["scores"], end["ending"]) == (-2, [1, -1], final.ending)
    assert placed["position"] == state.position
    assert bad == {
        "error": f"{make('tic_tac_toe').describe()['moves'][4]['name']} is not legal here.",
        "code": "illegal",
    }


def test_a_throw_leaves_the_move_before_it_marked(tmp_path: Path) -> None:
    state = State(make("einstein")).play_line("5 a4b4 2")
    looks = (["look", {"game": "einstein", "moves": list(state.history[:n])}] for n in (1, 3))
    thrown, moved = ask(bundle([make("einstein")], usual=("random",)), tmp_path, *looks)
    assert (thrown["last"], moved["last"]) == ([], list(state.last_cells))


def test_mcts_in_the_page_visits_what_mcts_visits_here(files: Bundle, tmp_path: Path) -> None:
    (found,) = ask(files, tmp_path, ["analyse", AT, {"agent": "mcts(simulations=777, seed=3, threads=1)"}])
    state = State(make("tic_tac_toe")).play_line(AT["moves"])
    here = MCTS(simulations=777, seed=3, threads=1).analyse(state)
    assert [(info["move"], info["visits"]) for info in found["moves"]] == [(int(m.move), m.visits) for m in here.moves]
    assert np.allclose(found["value"], here.value)
    assert found["final"] and found["simulations"] == here.simulations  # fewer where the value is proven


def test_every_agent_plays_to_the_end(files: Bundle, tmp_path: Path) -> None:
    agents = ["mcts(simulations=50)", "alphabeta(depth=3)", "maxn(depth=2)", "heuristic", "random"]
    known = json.loads(
        next(data for name, data in files.files.items() if name.startswith("tic") and name.endswith("json"))
    )
    names = [info["name"] for info in known["agents"]]
    for state in ask(
        files,
        tmp_path,
        *(
            [
                "game",
                {
                    "game": "tic_tac_toe",
                    "seats": [{"kind": "agent", "agent": one}, {"kind": "agent", "agent": "random"}],
                },
            ]
            for one in agents
            if one.split("(")[0] in names
        ),
    ):
        assert state["problem"] is None and state["result"]["ending"] == "rules"


def test_a_champion_that_avoids_draws_goes_on(tmp_path: Path) -> None:
    """Where both sides have gone there and back, it goes elsewhere when it plays, though what it thinks is the same."""
    game, name = make("abalone"), "champion(simulations=60, reuse=False)"
    state = State.from_position(game, "5/6/1OOOOO1/1OOOOO2/3OOOO2/3XXX2/1XXXXX1/1XXXXX/2X2 0")
    here = (state.turn, state.cells)
    at = {"game": "abalone", "position": state.position}
    state.play_line("A3NW F3SW D3SE E2NE")
    assert (state.turn, state.cells) == here
    at["moves"] = [int(move) for move in state.history]
    thinks, plays = ask(
        bundle([game], [name], usual=("random",)),
        tmp_path,
        *(["analyse", at, {"agent": name, "act": act}] for act in (False, True)),
    )
    assert thinks["moves"][0]["move"] == at["moves"][0]
    own = build(name, game)
    found = own.analyse(state)
    assert int(found.best) == at["moves"][0]
    past, seen = state.copy(), {here}
    while past.history:
        past.undo()
        seen.add((past.turn, past.cells))
    for move in (plays["moves"][0]["move"], int(own.chosen(state, found).best)):
        after = state.copy().play(move)
        assert (after.turn, after.cells) not in seen


def test_the_levels_of_a_champion_in_the_page(tmp_path: Path) -> None:
    game = make("connect_four")
    scale, at = Champion().scale(game), {"game": "connect_four", "moves": []}
    (summary,), agents, *found = ask(
        bundle([game], ["champion(level=9)"], usual=("random",)),
        tmp_path,
        ["games"],
        ["agents", "connect_four"],
        *(["analyse", at, {"agent": f"champion(level={level})"}] for level in (9, 1, 10)),
        ["analyse", at, {"agent": "champion"}],  # at full strength here as elsewhere
        *(["analyse", at, {"agent": "champion(level=1)", "act": True}] for _ in range(40)),
        ["game", {"game": "connect_four", "seats": [{"kind": "agent", "agent": "champion(level=1)"}] * 2}],
    )
    assert summary["levels"] and {agent["example"]: agent["levels"] for agent in agents} == {
        "champion(level=9)": True,
        "random": False,
    }
    assert [each["simulations"] for each in found[:4]] == [scale[8][0], scale[0][0], 200, 200]
    *drawn, table = found[4:]
    best = found[1]["moves"][0]["move"]
    assert any(each["random"] for each in drawn)  # a beginner does not always choose the best
    assert all(each["random"] == (each["moves"][0]["move"] != best) for each in drawn)
    assert table["random"]  # so the page marks these moves


def test_questions_that_cannot_be_answered(files: Bundle, tmp_path: Path) -> None:
    answers = ask(
        files,
        tmp_path,
        ["describe", "chess"],
        ["analyse", AT, {"agent": "gnugo"}],
        ["analyse", AT, {"agent": "mcts(wrong=1)"}],
        ["look", {**AT, "position": "XX/1 0"}],
        ["read", "tic_tac_toe a1 a1"],
        ["read", "{"],
    )
    for answer, said in zip(
        answers,
        [
            "no game 'chess'",
            "'gnugo' does not play here",
            "no parameter 'wrong'",
            "2 rows",
            "not legal",
            "not valid JSON",
        ],
        strict=True,
    ):
        assert said in answer["error"], answer


def test_records_go_out_and_in(files: Bundle, tmp_path: Path) -> None:
    (text,) = ask(files, tmp_path, ["record", AT, "jsonl"])
    (found,) = ask(files, tmp_path, ["read", text])
    assert found[0]["moves"] == AT["moves"]
    assert json.loads(text)["moves"] == [
        str(make("tic_tac_toe").describe()["moves"][move]["name"]) for move in AT["moves"]
    ]


# ---- what people are told ----

RAISES = """
import numpy as np
from meijin import OVER, Game, Piece, boards, game

@game("falls")
def falls() -> Game:
    state = np.dtype([("ply", "i2")])
    def start(s):
        s.ply = 0
    def turn(s):
        return s.ply % 2 if s.ply < 4 else OVER
    def legal(s, moves):
        moves[0] = 0
        return 1
    def play(s, move):
        if s.ply == 2:
            raise ValueError("the third move")
        s.ply += 1
    def score(s, scores):
        scores[0] = scores[1] = 0.0
    def cells(s, out):
        out[0] = 0
    return Game(
        state=state, seats=2, num_moves=1, longest=4, board=boards.square(1), pieces=(Piece("."),),
        rules=(start, turn, legal, play, score, cells),
    )
"""


def test_a_rule_that_fails_says_so_in_the_page(tmp_path: Path) -> None:
    from meijin.core.catalogue import games
    from meijin.core.registry import load_file

    source = tmp_path / "falls.py"
    source.write_text(RAISES)
    load_file(source, games)
    found = bundle([make("falls")], usual=("random",))
    fine, fails = ask(
        found, tmp_path, ["look", {"game": "falls", "moves": [0]}], ["look", {"game": "falls", "moves": [0, 0, 0]}]
    )
    assert fine["turn"] == 1
    assert fails["error"].startswith("the rules stopped with ValueError: the third move")


def test_a_rule_that_allocates_is_refused(tmp_path: Path) -> None:
    from meijin.core.catalogue import games
    from meijin.core.registry import load_file

    source = tmp_path / "grows.py"
    text = RAISES.replace("falls", "grows").replace('raise ValueError("the third move")', 's.ply = len(f"{move}")')
    source.write_text(text)
    load_file(source, games)
    with pytest.raises(MeijinError, match="rule 'play' cannot be compiled: it makes a string"):
        bundle([make("grows")], usual=("random",))


def test_the_command_writes_a_page_and_nothing_over_other_files(tmp_path: Path) -> None:
    file = tmp_path / "game.html"
    assert "open it in a browser" in good("publish", "tic_tac_toe", "--single-file", "--out", str(file))
    assert file.stat().st_size < 600_000
    folder = tmp_path / "page"
    for _ in range(2):  # the second replaces the first
        good("publish", "tic_tac_toe", "--out", str(folder))
    assert len(list(folder.glob("meijin.*.js"))) == 1 and (folder / "sw.js").exists()
    refused = run("publish", "tic_tac_toe", "--out", str(tmp_path))
    assert refused.exit_code != 0 and "holds other files" in refused.output
    refused = run("publish", "tic_tac_toe", "--agent", "perfect", "--out", str(folder))
    assert "does not run in a browser" in refused.output


def test_without_a_linker_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(link, "linker", lambda: None)
    assert "pip install" in str(link.missing())
    with pytest.raises(MeijinError, match="ziglang"):
        link.link(b"", [])


def test_a_game_too_large_for_phones_is_refused() -> None:
    from meijin.web.wasm import bundle as making

    game = make("tic_tac_toe")
    module = Module(b"\0asm\1\0\0\0", {"arrays": {"states": {"size": 300 << 20}}, "functions": {}})
    with pytest.raises(MeijinError, match=r"tic_tac_toe would need 300 MB in a browser, more than the 256 MB"):
        making.check_memory(game, module)
