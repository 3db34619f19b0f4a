"""`meijin publish`: games as a page that needs no server."""

from __future__ import annotations

import gzip
from collections.abc import Sequence
from pathlib import Path

from rich.text import Text

from meijin.cli.common import prepare
from meijin.cli.console import busy, out
from meijin.core.catalogue import games as registry
from meijin.core.catalogue import make
from meijin.core.errors import BadParameter, MeijinError
from meijin.learning import files


def publish(
    names: Sequence[str],
    load: Sequence[Path],
    agents: Sequence[str],
    nets: Sequence[Path],
    champion: bool,
    single_file: bool,
    folder: Path | None,
) -> None:
    from meijin.core.wasm.link import missing
    from meijin.web.wasm.bundle import USUAL
    from meijin.web.wasm.publish import site, write, write_single

    for net in nets:
        if files.kind(net) == "td":
            raise BadParameter(
                f"--net {net}: it holds an n-tuple network, and those cannot play in a page yet; leave it out, and "
                f"visitors play against mcts, or train a net with 'meijin train {names[0] if names else 'GAME'} zero'"
            )
    if why := missing():
        raise MeijinError(f"games cannot be compiled for browsers: {why}")
    loaded = prepare(load)
    if not names:
        own = [entry.name for entry in loaded if entry.name in registry.names() and registry.get(entry.name) is entry]
        if load and not own:
            raise BadParameter("there is no game in the loaded files; name one")
        names = own or registry.names()
    wanted = [make(name) for name in names]
    asked = [*agents, *(f'zero("{path.as_posix()}")' for path in nets)]
    usual = tuple(each for each in USUAL if champion or not each.startswith("champion"))
    with busy("compiling for browsers"):
        made = site(wanted, asked, usual, single_file=single_file)
    label = wanted[0].name if len({game.name for game in wanted}) == 1 else "games"
    if single_file:
        path = write_single(made, folder or Path(f"{label}.html"))
        out().print(Text.assemble((str(path), "bold"), f"  {_size(made.size)}; open it in a browser, or send it"))
        return
    target = folder or Path(f"{label}-page")
    write(made, target)
    sent = sum(len(gzip.compress(data)) for data in made.files.values())
    counted = f"{len(made.files)} files, {_size(made.size)} ({_size(sent)} compressed)"
    out().print(Text.assemble((str(target), "bold"), f"  {counted}"))
    out().print(Text(f"Put the folder on any static host. To try it here: python -m http.server -d {target}", "dim"))


def _size(count: int) -> str:
    return f"{count / 1e6:.1f} MB" if count >= 1e6 else f"{count / 1e3:.0f} kB"
