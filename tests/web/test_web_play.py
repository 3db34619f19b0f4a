"""Playing in the page: what a person does besides making moves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hands import SPOTS, Visitor
from playwright.sync_api import expect

from serving import Server

Visit = Callable[..., Visitor]
PERSON = {"kind": "person"}
RANDOM = {"kind": "agent", "agent": "random"}
MCTS = {"kind": "agent", "agent": "mcts(simulations=60)"}
WON = [0, 3, 1, 4]  # Tic-tac-toe: X wins with the next move, 2


def table(server: Server, game: str = "tic_tac_toe", **options: Any) -> dict[str, Any]:
    return dict(server.post("tables", game=game, **options))


def test_from_the_first_page_to_a_game(visit: Visit) -> None:
    visitor = visit("")
    visitor.see(".card .board")
    expect(visitor.page.locator(".card", has_text="Nim")).to_contain_text("2 to 16 players")
    visitor.page.get_by_label("Your opponent").select_option(label="Level 1 · beginner")
    visitor.page.get_by_role("link", name="Play Connect Four").first.click()
    visitor.wait_for_ply(0)
    visitor.click('[data-cell="3"]')
    visitor.wait_for_ply(2)  # the agent has answered
    assert "your turn" in visitor.read(".seat.turn")
    assert "Level 1" in visitor.read(".seats")
    visitor.click("button.seat >> nth=1")
    visitor.page.get_by_label("Agent", exact=True).select_option(label="Level 10 · full strength")
    visitor.page.get_by_role("dialog").get_by_role("button", name="Change").click()
    visitor.see(".seats:has-text('Level 10')")
    visitor.page.get_by_role("link", name="Play", exact=True).click()
    assert "against Level 10" in visitor.read(".resume")
    expect(visitor.page.get_by_label("Your opponent")).to_have_value("champion")  # it is remembered


def test_options_choose_size_and_opponent(visit: Visit) -> None:
    visitor = visit("")
    visitor.page.get_by_role("button", name="Options for Connect Four", exact=True).click()
    opponents = visitor.page.locator("dialog .seat-form select")
    expect(opponents.locator("option:checked")).to_have_text("Level 3 · easy")
    visitor.page.locator("dialog input[name=width]").fill("9")  # a size without a champion
    expect(opponents.locator("option:checked")).to_have_text("Medium · looks 600 times")
    opponents.select_option(label="Random · any legal move")
    visitor.button("Play")
    visitor.wait_for_ply(0)
    expect(visitor.page.locator(".board [data-cell]")).to_have_count(54)
    assert "Random" in visitor.read(".seats")
    assert "width=9" in visitor.read(".variant")


def test_undo_and_redo(server: Server, visit: Visit) -> None:
    visitor = visit()
    visitor.at_table(table(server, seats=[PERSON, RANDOM], seed=1))
    visitor.click('[data-cell="4"]')
    visitor.wait_for_ply(2)
    taken = visitor.read(".moves")
    visitor.button("Take back")
    visitor.wait_for_ply(0)
    visitor.button("Play again what was taken back")
    visitor.wait_for_ply(2)
    assert visitor.read(".moves") == taken


def test_reload_in_the_middle(server: Server, visit: Visit) -> None:
    visitor = visit()
    visitor.at_table(table(server, moves=WON))
    visitor.page.reload()
    visitor.wait_for_ply(4)
    expect(visitor.page.locator(".moves .move")).to_have_count(4)


def test_result_and_rematch(server: Server, visit: Visit) -> None:
    visitor = visit()
    visitor.at_table(table(server, moves=WON, seats=[PERSON, RANDOM]))
    visitor.click('[data-cell="2"]')
    assert visitor.read(".status.over .result") == "You win: three in a row"
    visitor.button("Rematch")
    visitor.wait_for_ply(0)
    assert "Random" in visitor.read(".seats")


def test_resign(server: Server, visit: Visit) -> None:
    visitor = visit()
    visitor.at_table(table(server, seats=[PERSON, RANDOM]))
    visitor.menu("Resign")
    visitor.page.get_by_role("alertdialog").get_by_role("button", name="Resign").click()
    assert visitor.read(".status.over .result").startswith("You lose")


def test_find_out_why_one_lost(server: Server, visit: Visit) -> None:
    """X lets O complete the middle row, although X could have won."""
    visitor = visit()
    visitor.at_table(table(server, moves=[*WON, 8, 5], seats=[PERSON, MCTS]))
    assert visitor.read(".status.over .result") == "You lose: three in a row"
    visitor.button("Find mistakes")
    visitor.page.get_by_role("button", name="Next mistake").click()
    assert visitor.read(".status.aside p").startswith("Blunder:")
    visitor.page.locator(".board .overlay text", has_text="★").wait_for()


def test_opinions_on_the_board(server: Server, visit: Visit) -> None:
    """They appear, change while the agent thinks, and follow the position."""
    visitor = visit()
    visitor.at_table(table(server, "connect_four", moves=[3, 3, 3]))
    visitor.page.get_by_role("tab", name="Look inside").click()
    visitor.page.get_by_label("Agent that looks at the position", exact=True).select_option("mcts")
    visitor.button("Analyse")
    assert visitor.page.locator(".board .overlay text").first.inner_html()
    first = visitor.read(".report .facts")
    visitor.page.wait_for_function("said => document.querySelector('.report .facts').innerText !== said", arg=first)
    rows = visitor.page.locator(".lines tbody tr")
    rows.nth(0).hover()  # the line is shown on the board
    visitor.page.wait_for_function("document.querySelectorAll('.board .overlay text').length > 1")
    visitor.page.get_by_label("Compare with another agent").check()
    assert visitor.see(".verdict")
    visitor.button("Stop")
    visitor.see("#analyse:has-text('Analyse')")


def test_three_who_are_even_have_a_third_each(server: Server, visit: Visit) -> None:
    visitor = visit()
    visitor.at_table(table(server, "sim(points=3, players=3)", moves=[0, 1, 2]))  # a draw
    said = visitor.see(".expectation").get_attribute("aria-label")
    assert said.count("33%") == 3


def test_the_best_move_of_a_lost_position_does_not_look_good(server: Server, visit: Visit) -> None:
    visitor = visit()
    visitor.at_table(table(server, "nim"))
    chips = visitor.page.locator(".seats .chip").all()
    assert len({chip.evaluate("chip => getComputedStyle(chip).backgroundColor") for chip in chips}) == 2
    visitor.page.get_by_role("tab", name="Look inside").click()
    visitor.page.get_by_label("Agent that looks at the position", exact=True).select_option("perfect")
    visitor.button("Analyse")
    assert "loss" in visitor.read(".lines tbody tr")
    red, green, _ = visitor.page.locator(".lines tbody .pick i").first.evaluate(
        "mark => getComputedStyle(mark).backgroundColor.match(/\\d+/g).map(Number)"
    )
    assert red > 2 * green


def test_agent_against_agent(server: Server, visit: Visit) -> None:
    visitor = visit()
    visitor.at_table(table(server, seats=[RANDOM, RANDOM], running=False))
    visitor.button("One move", exact=True)
    visitor.wait_for_ply(1)
    visitor.button("Go on")
    assert visitor.read(".status.over .result")
    assert visitor.page.locator(".graph, .moves .move").count() >= 5


def test_a_move_drawn_by_chance_is_marked(server: Server, visit: Visit) -> None:
    beginner = {"kind": "agent", "agent": "champion(level=1)"}
    visitor = visit()
    visitor.at_table(table(server, seats=[beginner, beginner], seed=1, running=False))
    visitor.button("Go on")
    assert visitor.read(".status.over .result")
    expect(visitor.page.locator(".moves .move[title^='A random move']").first).to_contain_text("~")


def test_take_over_a_seat(server: Server, visit: Visit) -> None:
    visitor = visit()
    visitor.at_table(table(server, seats=[RANDOM, RANDOM], running=False))
    visitor.click("button.seat >> nth=0")
    expect(visitor.page.get_by_label("Agent", exact=True).first).to_have_value("…")  # not one of the levels
    visitor.page.get_by_role("dialog").get_by_role("button", name="Person").click()
    visitor.button("Take over")
    visitor.page.get_by_role("dialog").wait_for(state="hidden")
    visitor.click('[data-cell="4"]')
    visitor.wait_for_ply(1)


def test_two_people_at_one_table(server: Server, visit: Visit) -> None:
    """Each plays their own seat, both see every move, and a third one watches."""
    made = table(server)
    host, *seats = [visit(own=True) for _ in range(3)]
    for visitor, key in zip((*seats, host), (*made["keys"]["seats"], made["keys"]["watch"]), strict=True):
        visitor.at_table(made, key)
    first, second = seats
    second.page.mouse.click(*second.page.evaluate(SPOTS)[0])  # not their turn: nothing happens
    first.click('[data-cell="4"]')
    for visitor in (first, second, host):
        visitor.wait_for_ply(1)
    second.click('[data-cell="0"]')
    for visitor in (first, second, host):
        visitor.wait_for_ply(2)
    expect(host.page.locator('.board [aria-disabled="false"]')).to_have_count(0)


def test_set_up_a_position(server: Server, visit: Visit) -> None:
    visitor = visit()
    visitor.at_table(table(server, seats=[PERSON, RANDOM]))
    visitor.menu("Set up a position")
    visitor.click('[data-cell="0"]')
    visitor.page.get_by_role("group", name="To move").get_by_role("button", name="O").click()
    visitor.see(".setup .good:has-text('can be played')")
    # A page that is quicker than the second click has been refused the position with X to move.
    visitor.faults[:] = [fault for fault in visitor.faults if "/api/setup" not in fault]
    visitor.page.locator(".setup").get_by_role("button", name="Play", exact=True).click()
    visitor.page.get_by_role("dialog").get_by_role("button", name="Play").click()
    visitor.wait_for_ply(1)  # O's agent moves first
    assert visitor.page.locator('.board [data-cell="0"]').get_attribute("aria-label") == "a3: X"


def test_a_link_holds_the_game(server: Server, visit: Visit) -> None:
    visitor = visit()
    visitor.at_table(table(server, moves=WON))
    visitor.menu("Share")
    link = visitor.page.get_by_label("The game so far", exact=True).input_value()
    other = visit(link.removeprefix(visitor.base), own=True)
    other.wait_for_ply(4)
    assert other.read(".moves") == visitor.read(".moves")
    other.click('[data-cell="2"]')  # a variation of their own
    other.wait_for_ply(5)
    assert "wins" in other.read(".status.over .result")


def test_variations_and_comments_are_kept(server: Server, visit: Visit) -> None:
    visitor = visit()
    made = table(server, moves=WON)
    visitor.at_table(made)
    visitor.button("One move back")
    visitor.wait_for_ply(3)
    visitor.click('[data-cell="8"]')
    visitor.see(".moves .variation")
    with visitor.page.expect_response(
        lambda response: response.url.endswith("/notes") and response.request.method == "POST"
    ):
        visitor.page.get_by_label("Comment on this position").fill("What if?")
    visitor.at_table(made)
    assert "What if?" in visitor.read(".moves .variation")


@pytest.mark.parametrize("format", ["JSONL", "SGF"])
def test_records_go_out_and_come_back(format: str, server: Server, visit: Visit, tmp_path: Any) -> None:
    visitor = visit()
    visitor.at_table(table(server, "gomoku", moves=[112, 113, 97]))
    visitor.menu("Import or export")
    with visitor.page.expect_download() as waiting:
        visitor.page.get_by_role("dialog").get_by_role("button", name=format).click()
    waiting.value.save_as(tmp_path / "game")
    visitor.page.get_by_label("Record", exact=True).fill((tmp_path / "game").read_text(encoding="utf-8"))
    visitor.button("Open")
    visitor.see(".play .status button:has-text('Play from here')")
    visitor.wait_for_ply(3)


def test_keyboard_alone(server: Server, visit: Visit) -> None:
    """Tab to the board, arrows to a cell, Enter; a live region says the moves."""
    visitor = visit()
    visitor.at_table(table(server, moves=WON))
    press = visitor.page.keyboard.press
    visitor.page.locator("main").focus()
    for _ in range(20):
        press("Tab")
        if visitor.page.evaluate("!!document.activeElement.closest('[data-cell]')"):
            break
    for key in ("ArrowRight", "ArrowRight", "ArrowUp", "ArrowUp", "Enter"):
        press(key)
    visitor.wait_for_ply(5)
    expect(visitor.page.locator("#live")).to_contain_text("X wins")
    press("u")
    visitor.wait_for_ply(4)
    press("Home")
    visitor.wait_for_ply(0)


def test_drag_a_piece(server: Server, visit: Visit) -> None:
    visitor = visit()
    made = table(server, "breakthrough")
    visitor.at_table(made)
    spots, mouse = visitor.page.evaluate(SPOTS), visitor.page.mouse
    path = server.get("description", game="breakthrough")["moves"][made["look"]["legal"][0]]["path"]
    mouse.move(*spots[path[0]])
    mouse.down()
    mouse.move(*spots[path[1]], steps=4)
    mouse.up()
    visitor.wait_for_ply(1)


def test_promotion_is_a_choice_on_the_board(server: Server, visit: Visit) -> None:
    visitor = visit()
    found = server.get("description", game="minishogi")
    made = table(server, "minishogi", position="4k/5/R4/5/4K b - 1")
    visitor.at_table(made)
    move = next(m for m in made["look"]["legal"] if found["moves"][m]["path"][-1] == "+")
    visitor.play(found, move)
    assert "+" in visitor.read(".moves .move.current")


def test_a_phone(server: Server, visit: Visit) -> None:
    """The board fits, nothing sticks out sideways, all of the menu can be reached, and a tap plays."""
    visitor = visit("", width=390, height=844)
    visitor.see(".card .board")
    made = table(server, "othello", seats=[PERSON, RANDOM])
    assert visitor.page.evaluate("document.documentElement.scrollWidth") <= 390
    visitor.at_table(made)
    assert visitor.page.evaluate("document.documentElement.scrollWidth") <= 390
    box = visitor.see(".board-holder").bounding_box()
    assert box["x"] >= 0 and box["x"] + box["width"] <= 390 and box["y"] + box["height"] <= 700
    visitor.button("More")
    items = [item.bounding_box() for item in visitor.page.get_by_role("menuitem").all()]
    assert len({item["x"] for item in items}) == 1  # a column
    assert items[0]["x"] >= 0 and items[0]["x"] + items[0]["width"] <= 390
    assert items[0]["y"] >= 0 and items[-1]["y"] + items[-1]["height"] <= 844
    visitor.page.keyboard.press("Escape")
    visitor.page.touchscreen.tap(*visitor.page.evaluate(SPOTS)[made["look"]["legal"][0]])
    visitor.wait_for_ply(2)


def test_a_guest_is_offered_only_what_guests_may_do(server: Server, visit: Visit) -> None:
    made = table(server)
    visitor = visit(own=True)
    visitor.page.route(
        "**/api/features", lambda route: route.fulfill(json=server.get("features") | {"access": "guest"})
    )
    visitor.at_table(made, made["keys"]["seats"][0])
    visitor.click('[data-cell="4"]')
    visitor.wait_for_ply(1)
    expect(visitor.page.get_by_role("tab", name="Look inside")).to_have_count(0)
    expect(visitor.page.get_by_role("button", name="Hint")).to_have_count(0)
    visitor.go("")
    assert visitor.read("h1") == "You are a guest here"


def test_a_link_to_nothing_says_so(visit: Visit) -> None:
    visitor = visit("#/game/tic_tac_toe?m=zzzz")
    assert "damaged" in visitor.read(".notice p")
