"""Plays an engine from a transcript, for tests: lines "> ..." must arrive, and lines "< ..." are what it answers."""

import sys
from pathlib import Path

for line in Path(sys.argv[1]).read_text(encoding="utf-8").splitlines():
    if line.startswith("< "):
        print(line[2:], flush=True)
    elif line.startswith("> "):
        sent = sys.stdin.readline().rstrip("\n")
        if sent != line[2:]:
            print(f"expected {line[2:]!r}, got {sent!r}", file=sys.stderr, flush=True)
            sys.exit(1)
sys.stdin.read()
