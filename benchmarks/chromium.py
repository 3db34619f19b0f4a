"""Modules run by Chromium, as `meijin.core.wasm.node` has Node run them; needs Playwright."""

from __future__ import annotations

import base64
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from meijin.core.wasm.module import Module, leaves
from meijin.core.wasm.node import SCRIPT

PROGRAM = """
async ({ script, code, manifest, arrays, calls }) => {
  const bytesOf = (text) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  const textOf = (bytes) => {
    let text = "";
    for (let i = 0; i < bytes.length; i += 8192) text += String.fromCharCode(...bytes.subarray(i, i + 8192));
    return btoa(text);
  };
  const { WasmModule } = await import(URL.createObjectURL(new Blob([script], { type: "text/javascript" })));
  const game = new WasmModule(await WebAssembly.compile(bytesOf(code)), manifest);
  for (const [name, [shape]] of Object.entries(arrays)) game.place(name, shape);
  const sizes = {};
  for (const [name, [, data]] of Object.entries(arrays)) {
    const bytes = bytesOf(data);
    sizes[name] = bytes.length;
    new Uint8Array(game.memory.buffer, game.place(name).at, bytes.length).set(bytes);
  }
  const results = calls.map(([name, ...numbers]) => {
    const began = performance.now(), result = game.run(name, ...numbers);
    return [result, (performance.now() - began) / 1000];
  });
  const found = {};
  for (const name in arrays) found[name] = textOf(new Uint8Array(game.memory.buffer, game.place(name).at, sizes[name]));
  return { results, found };
}
"""


class Chromium:
    def __init__(self, page: Any):
        self.page = page

    def call(self, module: Module, name: str, *args: Any, repeats: int = 1) -> list[tuple[float, float]]:
        """Call an exported function with these arguments, as `node.call` does."""
        values = [leaf for arg in args for _, leaf in leaves("", arg)]
        arrays = [value for value in values if isinstance(value, np.ndarray)]
        numbers = [float(value) for value in values if not isinstance(value, np.ndarray)]
        named = dict(zip(module.manifest["functions"][name]["arrays"], arrays, strict=True))
        job = {
            "script": SCRIPT.read_text(encoding="utf-8"),
            "code": base64.b64encode(module.code).decode(),
            "manifest": module.manifest,
            "arrays": {key: [array.shape, base64.b64encode(array.tobytes()).decode()] for key, array in named.items()},
            "calls": [[name, *numbers]] * repeats,
        }
        answer = self.page.evaluate(PROGRAM, job)
        for key, array in named.items():
            data = base64.b64decode(answer["found"][key])
            array[...] = np.frombuffer(data, array.dtype).reshape(array.shape)
        return [(result, seconds) for result, seconds in answer["results"]]


@contextmanager
def chromium() -> Iterator[Chromium]:
    from playwright.sync_api import sync_playwright

    path = os.environ.get("MEIJIN_CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-gpu"])
        yield Chromium(browser.new_page())
        browser.close()
