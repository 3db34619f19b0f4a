"""Pictures of the web app for the README and the docs: `python tools/screenshots.py`.

Needs Playwright and Chromium (MEIJIN_CHROMIUM names one that Playwright does not find). Each picture is a WebP file
below 150 kB in docs/images.
"""

from __future__ import annotations

import io
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import httpx
from PIL import Image
from playwright.sync_api import sync_playwright

FOLDER = Path(__file__).parents[1] / "docs" / "images"
STATIC = Path(__file__).parents[1] / "src" / "meijin" / "web" / "static"
MOST = 150_000  # bytes
DESKTOP, PHONE = (1280, 800), (390, 844)
PERSON = {"kind": "person"}
MEDIUM = {"kind": "agent", "agent": "mcts(simulations=600)"}
GO = ["e5", "c3", "g3", "c6", "g7", "d7", "f4", "e7", "c4", "d4", "d5", "b4", "c5", "b5", "f3", "e6", "d3", "d6"]
CONNECT_FOUR = [3, 3, 2, 1, 2, 2, 4, 5, 3, 3, 5, 2, 1, 1, 3, 5, 1, 5, 5, 3, 2, 6, 5, 6, 1, 6, 6, 6, 1, 4, 0, 4]
TOURNAMENT = {
    "name": "connect-four",
    "games": ["connect_four"],
    "agents": [{"name": f"mcts-{n}", "expression": f"mcts(simulations={n})"} for n in (25, 50, 100, 200, 400)]
    + [{"name": "random", "expression": "random"}],
    "rounds": 4,
    "openings": "random(plies=2)",
}


class Studio:
    def __init__(self, browser: Any, base: str):
        self.browser, self.base = browser, base
        self.api = httpx.Client(base_url=f"{base}/api", timeout=120)

    def line(self, game: str, names: list[str]) -> list[int]:
        moves = [move["name"] for move in self.api.get("description", params={"game": game}).json()["moves"]]
        return [moves.index(name) for name in names]

    def table(self, game: str, moves: list[int], **more: Any) -> str:
        answer = self.api.post("tables", json={"game": game, "moves": moves, "seats": [PERSON, MEDIUM], **more})
        answer.raise_for_status()
        return f"#/table/{answer.json()['id']}"

    def take(self, name: str, address: str, size: tuple[int, int], theme: str, *acts: Any) -> None:
        """Open a page, do something there, and keep what it looks like."""
        context = self.browser.new_context(viewport={"width": size[0], "height": size[1]}, device_scale_factor=1.5)
        page = context.new_page()
        page.goto(self.base)
        page.evaluate("theme => localStorage.setItem('meijin', JSON.stringify({theme}))", theme)
        page.goto("about:blank")
        page.goto(f"{self.base}/{address}")
        page.wait_for_timeout(2500)
        for act in acts:
            act(page)
        data = page.screenshot()
        context.close()
        picture = Image.open(io.BytesIO(data)).convert("RGB")
        for quality in (90, 80, 65, 50):
            out = io.BytesIO()
            picture.save(out, "WEBP", quality=quality, method=6)
            if out.tell() < MOST:
                break
        (FOLDER / f"web-{name}.webp").write_bytes(out.getvalue())
        print(f"web-{name}.webp: {out.tell() // 1000} kB")


def inside(page: Any) -> None:
    page.get_by_role("tab", name="Look inside").click()
    page.click("#analyse")
    page.wait_for_timeout(4000)


def review(page: Any) -> None:
    page.get_by_role("button", name="Find mistakes").click()
    page.get_by_role("button", name="Next mistake").click(timeout=120_000)
    page.wait_for_timeout(600)


def take_all(studio: Studio) -> None:
    studio.take("home", "", DESKTOP, "light")
    studio.take("inside", studio.table("go", studio.line("go", GO)), DESKTOP, "light", inside)
    lost = studio.table("connect_four", CONNECT_FOUR)
    studio.take("review", lost, DESKTOP, "dark", lambda page: page.wait_for_selector(".status.over"), review)
    samples = json.loads((STATIC / "samples.json").read_text(encoding="utf-8"))
    shogi = studio.table("minishogi", samples["minishogi"][:14])
    studio.take("phone", shogi, PHONE, "wood")
    studio.api.post("tournaments", json=TOURNAMENT).raise_for_status()
    while studio.api.get("tournaments").json()[0]["job"]["state"] == "running":
        time.sleep(1)
    studio.take("arena", "#/arena/tournament/connect-four", DESKTOP, "light")


def main() -> None:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = found.getsockname()[1]
    base = f"http://localhost:{port}"
    with tempfile.TemporaryDirectory() as data:
        serve = [sys.executable, "-m", "meijin", "serve", "--port", str(port), "--data", data, "--runs", f"{data}/runs"]
        server = subprocess.Popen(serve)
        try:
            for _ in range(200):
                try:
                    httpx.get(f"{base}/api/features")
                    break
                except httpx.TransportError:
                    time.sleep(0.1)
            with sync_playwright() as playwright:
                path = os.environ.get("MEIJIN_CHROMIUM") or shutil.which("chromium")
                browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
                take_all(Studio(browser, base))
                browser.close()
        finally:
            server.terminate()
            server.wait()


if __name__ == "__main__":
    main()
