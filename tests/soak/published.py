"""Every game, published, is played to its end by mouse in Chromium, after the host is gone.

    python tests/soak/published.py [GAME ...] [--width 390] [--pictures FOLDER]

The last moves of a short random game are made by mouse; with chance, some legal moves. Any request to another origin,
error on the console or unhandled rejection is a failure. --pictures keeps a picture of every board.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))  # the helpers of the tests
sys.path.insert(0, str(Path(__file__).parents[1] / "web"))

from hands import CHOMP, Visitor
from test_publish import Host, table
from test_web_games import BY_HAND, short_game

from meijin.core.catalogue import games, make
from meijin.core.registry import load_file
from meijin.core.state import State
from meijin.web.wasm.publish import site, write


def play(one: Visitor, name: str) -> None:
    line = short_game(name)
    begun = max(0, len(line) - BY_HAND)
    state = State(make(name))
    plies = []
    for move in line[:begun]:
        plies.append([move, state.turn, None])
        state.play(move)
    one.go(f"#/play/{name}")
    one.wait_for_ply(0) if not make(name).chance else one.see(".stage[data-ply]")
    body = {**table(one), "plies": plies, "seats": [{"kind": "person"} for _ in range(make(name).seats)]}
    one.page.evaluate("body => (localStorage[`meijin-table-${body.id}`] = JSON.stringify(body))", body)
    one.page.reload()
    description = make(name).describe()
    for number in range(600):
        now: Any = table(one)
        moves = [ply[0] for ply in now["plies"]]
        if now["result"]:
            break
        one.wait_for_ply(len(moves))
        legal = [int(move) for move in State(make(name)).play_line(moves).legal_moves]
        known = not make(name).chance and begun + number < len(line)
        one.play(description, line[begun + number] if known else legal[(7 * number) % len(legal)])
    one.see(".status.over .result")
    assert State(make(name)).play_line([ply[0] for ply in table(one)["plies"]]).is_over


def main() -> None:
    from playwright.sync_api import sync_playwright

    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("games", nargs="*")
    parser.add_argument("--width", type=int, default=1280)
    parser.add_argument("--pictures", type=Path)
    options = parser.parse_args()
    load_file(CHOMP, games)
    names = options.games or games.names()
    failed = []
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        write(site([make(name) for name in names]), Path(folder, "page"))
        host = Host(Path(folder, "page"))
        path = os.environ.get("MEIJIN_CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-gpu"])
        context = browser.new_context(viewport={"width": options.width, "height": 800}, reduced_motion="reduce")
        context.set_default_timeout(60_000)
        one = Visitor(context, host.address)
        one.go("")
        one.page.evaluate("navigator.serviceWorker.ready.then(() => true)")
        host.close()
        for name in names:
            try:
                play(one, name)
                assert one.faults == [], one.faults
                print(f"{name}: played to the end", flush=True)
            except Exception as error:
                failed.append(name)
                print(f"{name}: FAILED: {str(error)[:500]}", flush=True)
                one.faults.clear()
            if options.pictures:
                options.pictures.mkdir(parents=True, exist_ok=True)
                one.page.screenshot(path=options.pictures / f"{name}-{options.width}.png")
        browser.close()
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
