"""The pages beside play: tournaments, training, and the one for people who invent games."""

from __future__ import annotations

import importlib.util
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from axe import faults
from hands import CHOMP, Visitor
from playwright.sync_api import expect

from serving import Server, serving

Visit = Callable[..., Visitor]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Its game is checked, as the page for people who invent games shows."""
    folder = tmp_path_factory.mktemp("pages")
    shutil.copyfile(CHOMP, folder / CHOMP.name)
    with serving(folder / "data", load=(folder / CHOMP.name,)) as found:
        yield found


def test_a_tournament_from_start_to_its_games(visit: Visit) -> None:
    visitor = visit("#/arena")
    visitor.button("New tournament")
    dialog = visitor.page.get_by_role("dialog")
    third = dialog.get_by_label("Agent 3", exact=True)
    expect(third.locator("option:checked")).to_have_text("Level 7 · hard")
    for game in ("Chomp", "Connect Four"):  # levels only where every game has them
        dialog.get_by_role("button", name=game).click()
        expect(third.locator("option:checked")).to_have_text("Medium · looks 600 times")
    for game in ("Tic-tac-toe", "Chomp"):
        dialog.get_by_role("button", name=game).click()
    third.select_option(label="Level 2 · easy")
    dialog.get_by_label("Rounds").fill("1")
    dialog.get_by_label("Name").fill("small")
    dialog.get_by_role("button", name="Start").click()
    visitor.see("h1:has-text('small')")
    visitor.see(".page-head p:has-text('6 of 6 games')")  # told by the server as the games end
    expect(visitor.page.locator(".standings tbody tr")).to_have_count(3)
    assert all(f"Level {level}" in visitor.read(".standings") for level in (1, 2, 4))
    expect(visitor.page.locator(".crosstable td:not(.none) b")).to_have_count(6)
    assert faults(visitor) == []
    visitor.page.locator(".page-head").get_by_role("link", name="Games").click()
    visitor.see(".page-head p:has-text('6 games fit')")
    assert faults(visitor) == []
    visitor.click(".openings .pick")  # on in the tree of openings
    visitor.see(".openings .explorer button[title='One move back']:not([disabled])")
    visitor.button("Look")
    visitor.see(".play .moves .move")


def test_agents_that_cannot_be_listed_are_no_secret(visit: Visit) -> None:
    visitor = visit("#/arena")
    refused = {"status": 400, "json": {"code": "bad", "message": "a file of agents is broken"}}
    visitor.page.route("**/api/agents?*", lambda route: route.fulfill(**refused))
    visitor.button("New tournament")
    assert "a file of agents is broken" in visitor.read("dialog [role=alert]")
    visitor.faults.clear()  # the browser reports the failed request


@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="needs PyTorch")
def test_a_run_is_started_followed_and_played_against(visit: Visit) -> None:
    visitor = visit("#/training")
    visitor.button("New run")
    dialog = visitor.page.get_by_role("dialog")
    dialog.get_by_role("combobox", name="Game A game").fill("tic_tac_toe")
    dialog.get_by_label("Name").fill("small")
    dialog.get_by_label("Play against MCTS").uncheck()
    dialog.get_by_role("button", name="Start").click()
    visitor.see(".chart .line")  # a curve while it trains
    visitor.see(".checkpoints button")
    visitor.button("Stop")
    visitor.see(".page-head button:has-text('Train 10 more minutes')")
    visitor.button("Watch")
    visitor.see(".boards .board .pieces .body")
    visitor.button("Ask every checkpoint")
    visitor.see(".chart:has-text('Expected score')")
    assert faults(visitor) == []
    visitor.click(".checkpoints button")
    visitor.wait_for_ply(0)
    visitor.click('[data-cell="4"]')
    visitor.wait_for_ply(2)


def test_the_tuples_of_a_run_are_drawn_and_change_as_it_learns(server: Server, visit: Visit) -> None:
    pytest.importorskip("safetensors")
    changes = {"games": 50, "tuples.count": 14, "tuples.length": 3, "length.evaluate": 0}
    with server.socket() as talk:
        server.post("runs", name="tables", method="td", game="tic_tac_toe", iterations=1, changes=changes)
        talk.say("follow", what="train", name="tables")
        talk.until(lambda m: m.get("event", {}).get("state") == "finished")
    visitor = visit("#/training/tables", width=390)
    drawn, head = visitor.page.locator(".tuples li"), visitor.page.locator(".tuples p").first
    expect(drawn).to_have_count(12)
    expect(head).to_contain_text("after 50 games")
    expect(visitor.page.locator(".chart", has_text="Score by seat").locator(".legend")).to_contain_text("X")
    visitor.see("text=Only the latest is kept")
    visitor.button("Show all 14")
    expect(drawn).to_have_count(14)
    run = server.get("runs/tables")["tuples"]["tuples"]
    expect(visitor.page.locator(".tuples .last")).to_have_count(sum(len(each["cells"]) for each in run))
    expect(drawn.first).to_contain_text(f"Tuple {run[0]['number']} on")
    expect(drawn.first).to_contain_text("27 entries")
    before = drawn.all_inner_texts()
    assert faults(visitor) == []
    assert visitor.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    server.post("runs/tables/resume", iterations=2)
    expect(head).to_contain_text("after 100 games")  # told by the server, not asked for by hand
    assert drawn.all_inner_texts() != before
    visitor.button("Show the first 12")
    expect(drawn).to_have_count(12)


def test_no_button_trains_where_nobody_may(server: Server, visit: Visit) -> None:
    """A server that was started with --no-training says so with its features."""
    pytest.importorskip("safetensors")
    changes = {"games": 50, "length.evaluate": 0}
    with server.socket() as talk:
        server.post("runs", name="shown", method="td", game="tic_tac_toe", iterations=1, changes=changes)
        talk.say("follow", what="train", name="shown")
        talk.until(lambda m: m.get("event", {}).get("state") == "finished")
    visitor = visit(own=True)
    visitor.page.route("**/api/features", lambda route: route.fulfill(json=server.get("features") | {"train": False}))
    visitor.go("#/training")
    visitor.page.get_by_role("link", name="shown").wait_for()
    expect(visitor.page.get_by_role("button", name="New run")).to_have_count(0)
    visitor.go("#/training/shown")
    visitor.see("button:has-text('Play against it')")
    expect(visitor.page.locator("button:has-text('Train 10 more minutes'), button:has-text('Stop')")).to_have_count(0)


def test_a_file_is_followed_as_it_is_saved(server: Server, visit: Visit) -> None:
    file = Path(server.settings.load[0])
    rules = file.read_text(encoding="utf-8")
    visitor = visit("#/designer")
    visitor.see(".laws li")
    visitor.see('.explorer [data-cell][aria-disabled="false"]')
    try:
        file.write_text(rules + "\nthis is not Python\n", encoding="utf-8")
        assert "chomp.py" in visitor.read(".problem")
    finally:
        file.write_text(rules, encoding="utf-8")
    visitor.see(".file + .beside .explorer .board")
    expect(visitor.page.locator(".problem")).to_have_count(0)
