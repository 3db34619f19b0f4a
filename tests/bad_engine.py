"""A GTP engine that misbehaves at its first move, for tests: bad_engine.py hang|illegal|flood|die|silent."""

import os
import subprocess
import sys
import time

MISTAKE = sys.argv[1]

if MISTAKE == "silent":
    time.sleep(1000)
for line in sys.stdin:
    command = line.split()[0]
    if command != "genmove":
        print("= \n", flush=True)
    elif MISTAKE == "hang":
        child = subprocess.Popen(["sleep", "1000"])
        print(f"children {os.getpid()} {child.pid}", file=sys.stderr, flush=True)
        time.sleep(1000)
    elif MISTAKE == "flood":
        while True:
            print("nonsense " * 100)
    elif MISTAKE == "die":
        print("out of luck", file=sys.stderr, flush=True)
        sys.exit(3)
    else:
        print("= z9\n", flush=True)
