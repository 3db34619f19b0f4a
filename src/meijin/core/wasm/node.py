"""Modules run by Node, for checks and measurements: a kernel there does to its arrays what it does here."""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from meijin.core.errors import MeijinError
from meijin.core.wasm.module import Module, leaves

#: Reads a module, its manifest and calls from a folder; arrays lie there as files, and go back to the same.
PROGRAM = """
import fs from "node:fs";
const { WasmModule } = await import(process.argv[1]), folder = process.argv[2];
const job = JSON.parse(fs.readFileSync(`${folder}/job.json`));
const game = new WasmModule(new WebAssembly.Module(fs.readFileSync(`${folder}/game.wasm`)), job.manifest);
const bytes = (name) => new Uint8Array(game.memory.buffer, game.place(name).at, job.sizes[name]);
for (const [name, shape] of Object.entries(job.shapes)) game.place(name, shape);
for (const name of Object.keys(job.shapes)) bytes(name).set(fs.readFileSync(`${folder}/${name}`));
const results = job.calls.map(([name, ...numbers]) => {
  const began = performance.now(), result = game.run(name, ...numbers);
  return [result, (performance.now() - began) / 1000];
});
for (const name of Object.keys(job.shapes)) fs.writeFileSync(`${folder}/${name}`, bytes(name));
fs.writeFileSync(`${folder}/results.json`, JSON.stringify(results));
"""
SCRIPT = Path(__file__).parents[2] / "web" / "static" / "wasm_module.js"
LEAST_VERSION = 18  # of Node: the first with all that modules use


def missing() -> str | None:
    """Why Node cannot run modules here; None when it can."""
    found = shutil.which("node")
    if found is None:
        return "there is no Node.js here (https://nodejs.org)"
    version = subprocess.run([found, "--version"], capture_output=True, text=True, check=False).stdout.strip()
    if not version[1:].split(".")[0].isdigit() or int(version[1:].split(".")[0]) < LEAST_VERSION:
        return f"Node.js is too old here: {version}; modules need {LEAST_VERSION} or later"
    return None


def call(module: Module, name: str, *args: Any, repeats: int = 1) -> list[tuple[float, float]]:
    """Call an exported function with these arguments. Arrays are changed in place, as by the kernel itself.

    Returns the result and the seconds it took, for each of the repeats.
    """
    values = [leaf for arg in args for _, leaf in leaves("", arg)]
    arrays = [value for value in values if isinstance(value, np.ndarray)]
    numbers = [float(value) for value in values if not isinstance(value, np.ndarray)]
    named = dict(zip(module.manifest["functions"][name]["arrays"], arrays, strict=True))
    with tempfile.TemporaryDirectory() as folder:
        job = {
            "manifest": module.manifest,
            "shapes": {key: array.shape for key, array in named.items()},
            "sizes": {key: array.nbytes for key, array in named.items()},
            "calls": [[name, *numbers]] * repeats,
        }
        Path(folder, "job.json").write_text(json.dumps(job))
        Path(folder, "game.wasm").write_bytes(module.code)
        for key, array in named.items():
            Path(folder, key).write_bytes(array.tobytes())
        command = ["node", "--input-type=module", "--eval", PROGRAM, "--", SCRIPT.as_uri(), folder]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise MeijinError(f"Node.js: {done.stderr.strip()}")
        for key, array in named.items():
            array[...] = np.frombuffer(Path(folder, key).read_bytes(), array.dtype).reshape(array.shape)
        return [(result, seconds) for result, seconds in json.loads(Path(folder, "results.json").read_text())]
