"""Hooks of MkDocs: pages from outside this folder, and links that work on the site and in the repository."""

from __future__ import annotations

import re
from pathlib import Path, PurePosixPath
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parent.parent
OUTSIDE = {  # place on the site -> place in the repository
    "CONTRIBUTING.md": "CONTRIBUTING.md",
    "CHANGELOG.md": "CHANGELOG.md",
    "experiments-zero.md": "experiments/zero/README.md",
    "experiments-td.md": "experiments/td/README.md",
    "experiments-classic.md": "experiments/classic/README.md",
}


def on_files(files: Files, config: Any) -> Files:
    """Pages that live elsewhere in the repository."""
    for path, source in OUTSIDE.items():
        files.append(File.generated(config, path, content=(ROOT / source).read_text(encoding="utf-8")))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    """Links to files of the repository that are no pages become plain text; those to pages become links on the site."""
    here = PurePosixPath(page.file.src_uri)
    where = PurePosixPath(OUTSIDE.get(str(here), f"docs/{here}")).parent
    pages = {source: path for path, source in OUTSIDE.items()}

    def link(found: re.Match[str]) -> str:
        label, target = found[1], found[2]
        path, _, anchor = target.partition("#")
        if "://" in target or not path:
            return found[0]
        parts: list[str] = []
        for part in (where / path).parts:
            parts = parts[:-1] if part == ".." else [*parts, part]
        found_at = "/".join(parts)
        inside = pages.get(found_at, found_at.removeprefix("docs/"))
        if files.get_file_from_path(inside) is None:
            return label
        up = "../" * (len(here.parts) - 1)
        return f"[{label}]({up}{inside}{'#' + anchor if anchor else ''})"

    parts = re.split(r"(```.*?```)", markdown, flags=re.DOTALL)
    for i in range(0, len(parts), 2):
        parts[i] = re.sub(r"(?<!!)\[([^\]\n]+)\]\(([^)\s]+)\)", link, parts[i])
        parts[i] = re.sub(r'href="([^":]+)\.md"', r'href="\1.html"', parts[i])  # HTML is left as it is otherwise
        parts[i] = parts[i].replace("<details>", '<details markdown="1">')
    return "".join(parts)
