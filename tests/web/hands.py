"""Somebody who sits in front of a page and plays with the mouse."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from serving import Server

CHOMP = Path(__file__).parents[2] / "examples" / "chomp.py"

# Where on the screen a click meets a cell: its centre, or another point of it where something lies over the centre.
SPOTS = """() => {
  const inside = (cell, x, y) => document.elementFromPoint(x, y)?.closest("[data-cell]") === cell;
  return [...document.querySelectorAll(".board:not(.mini) [data-cell]")].map((cell) => {
    const { left, top, width, height } = cell.getBoundingClientRect();
    for (const part of [0.5, 0.35, 0.65, 0.25, 0.75, 0.15])
      for (const other of [part, 1 - part]) {
        const [x, y] = [left + part * width, top + other * height];
        if (inside(cell, x, y)) return [x, y];
      }
    return null;
  });
}"""


class Visitor:
    def __init__(self, context: Any, base: str):
        self.context, self.base = context, base
        self.page = context.new_page()
        self.faults: list[str] = []
        self.page.on("console", self._hear)
        self.page.on("pageerror", lambda error: self.faults.append(f"not handled: {error}"))
        self.page.on("request", lambda request: self._expect_own(request.url))

    def _hear(self, message: Any) -> None:
        if message.type == "error":
            self.faults.append(f"console: {message.text} ({message.location['url']})")

    def _expect_own(self, url: str) -> None:
        if not url.startswith((self.base, "data:", "blob:")):
            self.faults.append(f"request to another origin: {url}")

    def go(self, address: str) -> None:
        """As somebody who follows a link from elsewhere: the whole page is loaded."""
        if self.page.url.startswith(self.base):
            self.page.goto("about:blank")
        self.page.goto(self.base + address)

    def see(self, selector: str) -> Any:
        found = self.page.locator(selector).first
        found.wait_for()
        return found

    def read(self, selector: str) -> str:
        return str(self.see(selector).inner_text())

    def click(self, selector: str) -> None:
        self.page.locator(selector).first.click()

    def button(self, name: str, exact: bool = False) -> None:
        self.page.get_by_role("button", name=name, exact=exact).first.click()

    def menu(self, name: str) -> None:
        self.button("More")
        self.page.get_by_role("menuitem", name=name).click()

    # ---- at a board ----

    def at_table(self, table: dict[str, Any], key: str | None = None) -> None:
        self.go(f"#/table/{table['id']}?key={key or table['keys']['host']}")
        self.wait_for_ply(len(table["moves"]))

    @property
    def ply(self) -> int:
        return int(self.see(".stage[data-ply]").get_attribute("data-ply"))

    def wait_for_ply(self, ply: int) -> None:
        self.see(f'.stage[data-ply="{ply}"]')

    def play(self, description: dict[str, Any], move: int) -> None:
        """A move of a person, by clicks along its path."""
        before = self.ply
        spots = self.page.evaluate(SPOTS)
        for step in description["moves"][move]["path"]:
            if isinstance(step, str):
                if self._offered(before, step):
                    self.click(f'[data-word="{step}"]')
            else:
                spot = next(spots[cell] for cell in _cells(step) if spots[cell])
                self.page.mouse.click(*spot)
        # A path that is also the beginning of a longer one asks whether to stop there.
        if self._offered(before, ""):
            self.click('[data-word=""]')
        self._offered(before, "no such word")

    def _offered(self, ply: int, word: str) -> bool:
        """Wait until the move is made or a word is offered; whether it is the word. A last word that is the only one
        left is played without asking."""
        found = """([ply, word]) => {
          if (Number(document.querySelector(".stage").dataset.ply) > ply) return "made";
          return document.querySelector(`[data-word="${word}"]`) && "offered";
        }"""
        return bool(self.page.wait_for_function(found, arg=[ply, word]).json_value() == "offered")

    def play_out(
        self, server: Server, table: dict[str, Any], line: list[int] | None = None, most: int = 400
    ) -> dict[str, Any]:
        """Play to the end along a line; without one, some legal move each time. Returns the table at its end."""
        description = server.get("description", game=table["game"])
        for number in range(most):
            now = server.get(f"tables/{table['id']}", key=table["keys"]["host"])
            if now["result"]:
                return dict(now)
            self.wait_for_ply(len(now["moves"]))
            legal = now["look"]["legal"]
            self.play(description, line[number] if line else legal[(7 * number) % len(legal)])
        raise AssertionError(f"{table['game']} is not over after {most} moves")


def _cells(step: int | list[int]) -> list[int]:
    return [step] if isinstance(step, int) else step[len(step) // 2 :] + step[: len(step) // 2]
