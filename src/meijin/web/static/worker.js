// @ts-check
/**
 * A worker is one agent that searches. It hears {type: "open", ...} once, then {type: "think", id, task} and
 * {type: "stop"}; it answers {id, analysis, final} again and again, {stopped: true} once it hears that, or {id, error}.
 *
 * @import {Facts, Task} from "./worker_search.js"
 * @import {Manifest} from "./wasm_module.js"
 */

import { WasmModule } from "./wasm_module.js";
import { Zero } from "./worker_net.js";
import { AlphaBeta, MaxN, Mcts } from "./worker_search.js";

const SEARCHES = /** @type {Record<string, any>} */ ({ alphabeta: AlphaBeta, maxn: MaxN, mcts: Mcts, zero: Zero });

/** A moment for messages to come in. */
function pause() {
  return new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => {
      port1.close();
      resolve(undefined);
    };
    port2.postMessage(0);
  });
}

/** Answer whoever speaks through a port: a worker's own scope, or one end of a channel where there are no workers.
 *  @param {{postMessage(message: any): void, onmessage: any}} port */
export function serve(port) {
  /** @type {any} */
  let search = null;
  let newest = 0; // the task under way; an older one ends

  /** @param {{code: WebAssembly.Module, manifest: Manifest, facts: Facts, kind: string, options: any}} given */
  function open({ code, manifest, facts, kind, options }) {
    search = new SEARCHES[kind](new WasmModule(code, manifest), facts, options);
  }

  /** @param {number} id @param {Task} task */
  async function think(id, task) {
    newest = id;
    const thinking = search.think(task);
    for (;;) {
      const { value, done } = thinking.next();
      if (value) port.postMessage({ id, analysis: value, final: done });
      if (done) return;
      await pause();
      if (newest !== id) {
        thinking.return();
        return;
      }
    }
  }

  port.onmessage = async (/** @type {{data: any}} */ { data }) => {
    try {
      if (data.type === "open") open(data);
      else if (data.type === "stop") {
        newest = 0;
        port.postMessage({ stopped: true });
      } else await think(data.id, data.task);
    } catch (error) {
      port.postMessage({ id: data.id, error: error instanceof Error ? error.message : String(error) });
    }
  };
}

if ("WorkerGlobalScope" in globalThis) serve(/** @type {any} */ (globalThis));
