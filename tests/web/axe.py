"""axe-core: what is wrong with a page for people who do not see, or do not use a mouse."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hands import Visitor

AXE = Path(__file__).parents[2] / "tools" / "web" / "node_modules" / "axe-core" / "axe.min.js"
# Of the small boards on the first page two are enough.
RUN = """([part, rule]) => axe.run(
  {include: [part], exclude: ['.card:nth-child(n+3) svg']}, rule ? {runOnly: [rule]} : {})"""


def faults(visitor: Visitor, part: str = "html", only: str = "") -> list[str]:
    """What it finds in a part of the page that is serious or critical, by all its rules or one of them.

    Nothing where it is not installed, which is by `npm ci --prefix tools/web`.
    """
    if not AXE.exists():
        return []
    # As a script of the page itself its policy would refuse it; evaluated by the browser it may look at everything.
    visitor.page.evaluate(AXE.read_text(encoding="utf-8"))
    visitor.page.evaluate("document.fonts.ready")
    found: dict[str, Any] = visitor.page.evaluate(RUN, [part, only])
    bad = [each for each in found["violations"] if each["impact"] in ("serious", "critical")]
    return [f"{each['id']}: {node['html'][:160]} {node['failureSummary']}" for each in bad for node in each["nodes"]]
