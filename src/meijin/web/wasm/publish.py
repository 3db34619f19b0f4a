"""Pages that play without a server: a folder for any static host, or one file that opens from the disk.

A folder has index.html, a script, a style sheet, fonts, a service worker (after the first visit the page works without
a connection, and can be installed), and `games/`, which `bundle` makes. Names hold a digest of the content, so that
hosts and browsers may keep files for as long as they like.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from meijin.core.atomic import write_file
from meijin.core.errors import MeijinError
from meijin.core.game import Game
from meijin.core.wasm.link import missing
from meijin.web.wasm.bundle import USUAL, Bundle, bundle
from meijin.web.wasm.script import STATIC, joined, module

MARK = '<meta name="generator" content="Meijin" />'
KEPT_AT_ONCE = 8 << 20  # bytes that a first visit may load for later visits; beyond, nets are loaded when they play
OWN = ("*.js", "*.css", "games", "fonts", "icon.svg", "index.html", "app.webmanifest", ".nojekyll")

_START = """
import {{ start }} from "./app.js";
import {{ {files}, localEngine }} from "./engine_local.js";
import {{ address, go }} from "./ui/router.js";
const only = {only};
if (only && !location.hash) go(address("play", only), true);
void start(localEngine({files}({given})));
"""
_START_AT_TABLE = """
import {{ start }} from "./app.js";
import {{ embedded, localEngine }} from "./engine_local.js";
import {{ address, go }} from "./ui/router.js";
const opened = localEngine(embedded("meijin-files")).then(async (engine) => {{
  const table = await engine.tables.create({table});
  go(address("table", table.id), true);
  return engine;
}});
void start(opened);
"""
COMPACT = """
.top { display: none; }
html, body { background: none; }
@media (max-width: 900px) { .panel:not(.setup) .title { display: none; } }  /* its place is the header */
"""
_WORKER_OF_FOLDER = '"games/", () => new Worker({worker})'
_REGISTER = """
if ("serviceWorker" in navigator && isSecureContext) {
  addEventListener("load", () => navigator.serviceWorker.register("sw.js").catch(() => {}));
}
"""


@dataclass(frozen=True)
class Start:
    """A single page that begins at a table of its own, without the page's header; for notebooks."""

    table: dict[str, Any]  # what `tables.create` of the page's engine takes


@dataclass(frozen=True)
class Site:
    """Files by path below the folder; of a single page only index.html."""

    files: dict[str, bytes]

    @property
    def size(self) -> int:
        return sum(map(len, self.files.values()))


def site(
    games: Sequence[Game],
    agents: Sequence[str] = (),
    usual: Sequence[str] = USUAL,
    *,
    single_file: bool = False,
    start: Start | None = None,
    progress: Callable[[str], None] = lambda game: None,
) -> Site:
    """The page with these games; `start` is for single files only."""
    if why := missing():
        raise MeijinError(f"games cannot be compiled for browsers: {why}")
    if not games:
        raise MeijinError("there is nothing to publish; name a game")
    found = bundle(games, agents, usual, progress)
    names = list(dict.fromkeys(game.name for game in games))
    title = games[0].title if len(names) == 1 else "Meijin"
    only = json.dumps(names[0] if len(names) == 1 else None)
    if single_file:
        return Site({"index.html": _single(found, title, only, start)})
    return _folder(found, title, only, games)


def _folder(found: Bundle, title: str, only: str, games: Sequence[Game]) -> Site:
    files: dict[str, bytes] = {f"games/{name}": data for name, data in found.files.items()}

    def put(name: str, text: str) -> str:
        data = text.encode()
        stem, _, kind = name.rpartition(".")
        path = f"{stem}.{hashlib.sha256(data).hexdigest()[:8]}.{kind}"
        files[path] = data
        return path

    for font in sorted((STATIC / "fonts").iterdir()):
        files[f"fonts/{font.name}"] = font.read_bytes()
    files["icon.svg"] = (STATIC / "icon.svg").read_bytes()
    worker = put("worker.js", module("worker.js"))
    given = _WORKER_OF_FOLDER.format(worker=json.dumps(worker))
    script = put("meijin.js", joined(_START.format(files="folder", only=only, given=given) + _REGISTER))
    style = put("meijin.css", _styles().replace("../fonts/", "fonts/"))
    about = {
        "name": title,
        "short_name": title,
        "start_url": ".",
        "display": "standalone",
        "background_color": "#f6f3ee",
        "theme_color": "#f6f3ee",
        "icons": [{"src": "icon.svg", "sizes": "any", "type": "image/svg+xml", "purpose": "any"}],
    }
    files["app.webmanifest"] = json.dumps(about).encode()
    files[".nojekyll"] = b""  # GitHub Pages would leave out files that it takes for Jekyll's
    head = (
        f'<link rel="icon" href="icon.svg" type="image/svg+xml" /><link rel="manifest" href="app.webmanifest" />'
        f'<link rel="stylesheet" href="{style}" /><script type="module" src="{script}"></script>'
    )
    files["index.html"] = _page(title, head, "", games).encode()
    shell = [name for name in files if name not in (".nojekyll", "index.html")]
    if sum(map(len, files.values())) > KEPT_AT_ONCE:
        shell = [name for name in shell if not name.endswith(".net")]
    version = hashlib.sha256(b"".join(name.encode() + files[name] for name in sorted(files))).hexdigest()[:12]
    told = f"const VERSION = {json.dumps(version)}, FILES = {json.dumps(['./', *sorted(shell)])};"
    keeper = (STATIC / "service_worker.js").read_text(encoding="utf-8")
    files["sw.js"] = keeper.replace('const VERSION = "", FILES = [];', told).encode()
    return Site(files)


def _single(found: Bundle, title: str, only: str, start: Start | None) -> bytes:
    """Everything in one page: games as base64, fonts in the style sheet."""

    def font(match: re.Match[str]) -> str:
        data = base64.b64encode((STATIC / "fonts" / match[1]).read_bytes()).decode()
        return f'url("data:font/woff2;base64,{data}")'

    styles = _styles()
    if start:  # the notebook's own fonts will do
        styles = re.sub(r"@font-face\s*\{[^}]*\}\n*", "", styles) + COMPACT
    style = re.sub(r'url\("\.\./fonts/([^"]+)"\)', font, styles)
    icon = base64.b64encode((STATIC / "icon.svg").read_bytes()).decode()
    main = (
        _START_AT_TABLE.format(table=json.dumps(start.table))
        if start
        else _START.format(files="embedded", only=only, given='"meijin-files"')
    )
    files = {
        name: json.loads(data) if name.endswith(".json") else base64.b64encode(data).decode()
        for name, data in found.files.items()
    }
    body = (
        f'<script type="application/json" id="meijin-files">{_inside_script(json.dumps(files))}</script>'
        f'<script type="text/plain" id="meijin-worker">{_inside_script(module("worker.js"))}</script>'
    )
    head = (
        f'<link rel="icon" href="data:image/svg+xml;base64,{icon}" /><style>{style}</style>'
        f'<script type="module">{_inside_script(joined(main))}</script>'
    )
    return _page(title, head, body, (), compact=start is not None).encode()


def _inside_script(text: str) -> str:
    """Text that cannot end the element it stands in. Both forms mean the same inside of strings."""
    return text.replace("</script", r"<\/script").replace("<!--", r"<\!--")


def _styles() -> str:
    """The style sheets that the page names, as one."""
    names = re.findall(r'<link rel="stylesheet" href="([^"]+)"', (STATIC / "index.html").read_text(encoding="utf-8"))
    text = "\n".join((STATIC / name).read_text(encoding="utf-8") for name in names)
    return re.sub(r"/\*.*?\*/\n?", "", text, flags=re.DOTALL)


def _page(title: str, head: str, body: str, games: Sequence[Game], compact: bool = False) -> str:
    page = (STATIC / "index.html").read_text(encoding="utf-8")
    shown = html.escape(title)
    about = html.escape(
        f"Play {title} against the computer, in the browser."
        if len(games) == 1
        else "Board games to play in the browser."
    )
    page = re.sub(r"<title>.*?</title>", f"<title>{shown}</title>", page)
    page = re.sub(r'(<meta name="description" content=")[^"]*', lambda match: match[1] + about, page)
    page = re.sub(r"\s*<link [^>]*>|\s*<script [^>]*>\s*</script>", "", page)
    page = page.replace("</head>", f"  {MARK}\n    {head}\n  </head>")
    page = page.replace("</body>", f"  {body}\n  </body>") if body else page
    return page.replace('<html lang="en"', '<html lang="en" data-compact') if compact else page


# ---- writing ----


def write(made: Site, out: Path) -> None:
    """Write a folder, in place of an earlier publication; a folder of anything else is refused."""
    if out.is_file():
        raise MeijinError(f"--out {out}: this is a file; name a folder, or add --single-file")
    if out.is_dir() and any(out.iterdir()):
        page = out / "index.html"
        if not page.is_file() or MARK not in page.read_text(encoding="utf-8", errors="replace"):
            raise MeijinError(f"--out {out}: the folder holds other files; name a new one")
        for pattern in OWN:
            for old in out.glob(pattern):
                shutil.rmtree(old) if old.is_dir() else old.unlink()
    for name, data in made.files.items():
        path = out / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


def write_single(made: Site, out: Path) -> Path:
    """Write the page to a file; to one named index.html where `out` is a folder."""
    path = out / "index.html" if out.is_dir() or out.suffix.lower() not in (".html", ".htm") else out
    path.parent.mkdir(parents=True, exist_ok=True)
    write_file(path, made.files["index.html"])
    return path
