// @ts-check
/**
 * The page's end of a worker that searches. Where the browser allows no workers, the search runs in the page, in slices.
 *
 * @import {Analysis} from "./engine.js"
 * @import {Task} from "./worker_search.js"
 */

import { EngineError } from "./engine.js";
import { serve } from "./worker.js";

let allowed = true; // whether this page may have workers
const PATIENCE = 100; // milliseconds that a worker has to end by itself when it is told to

export class Thinker {
  /** @param {() => Worker} makeWorker @param {object} opening  what the worker hears first */
  constructor(makeWorker, opening) {
    this.makeWorker = makeWorker;
    this.opening = opening;
    this.last = 0;
    /** @type {{id: number, task: Task, hear: (analysis: Analysis) => void, done: () => void, fail: (error: Error) => void} | null} */
    this.task = null;
    /** @type {any} */
    this.port = null;
    /** @type {Promise<void>} when the worker listens again */
    this.settled = Promise.resolve();
    this.settle = () => {};
  }

  #open() {
    try {
      if (!allowed) throw new Error("no workers here");
      this.port = this.makeWorker();
    } catch { // such as in a frame that may not have any
      this.#openHere();
      return;
    }
    let heard = false;
    this.port.onmessage = (/** @type {{data: any}} */ { data }) => {
      heard = true;
      this.#hear(data);
    };
    this.port.onerror = (/** @type {ErrorEvent} */ event) => {
      event.preventDefault();
      if (heard || !this.task) return this.#hear({ error: event.message || "the worker could not be started" });
      allowed = false; // some pages say so only now
      this.close();
      this.#openHere();
      this.port.postMessage({ type: "think", id: this.task.id, task: this.task.task });
    };
    this.port.postMessage({ type: "open", ...this.opening });
  }

  /** Search in the page. */
  #openHere() {
    const { port1, port2 } = new MessageChannel();
    serve(port1);
    this.port = port2;
    this.port.onmessage = (/** @type {{data: any}} */ { data }) => this.#hear(data);
    this.port.postMessage({ type: "open", ...this.opening });
  }

  /** @param {{id?: number, analysis?: Analysis, final?: boolean, error?: string, stopped?: boolean}} answer */
  #hear({ id, analysis, final, error, stopped }) {
    if (stopped) this.settle();
    const task = this.task;
    if (!task) return;
    if (error && (id === undefined || id === task.id)) {
      task.fail(new EngineError(error));
      this.close();
    } else if (id === task.id) {
      if (analysis) task.hear(analysis);
      if (final) task.done();
    }
  }

  /** Search until the end, or until it is stopped. @param {Task} task @param {(analysis: Analysis) => void} hear @returns {Promise<void>} */
  async think(task, hear) {
    const id = ++this.last;
    await this.settled;
    if (id !== this.last) return; // stopped before it began
    if (!this.port) this.#open();
    await new Promise((resolve, reject) => {
      this.task = { id, task, hear, done: () => resolve(undefined), fail: reject };
      this.port.postMessage({ type: "think", id, task });
    }).finally(() => (this.task = null));
  }

  stop() {
    this.last++;
    if (!this.task) return;
    this.settled = new Promise((resolve) => {
      // A worker in the middle of a long kernel cannot listen: it is ended, and forgets what it knew.
      const timer = setTimeout(() => {
        this.close();
        resolve();
      }, PATIENCE);
      this.settle = () => {
        clearTimeout(timer);
        resolve();
      };
    });
    this.port.postMessage({ type: "stop" });
    this.task.done();
  }

  /** End the worker; the next task starts another. */
  close() {
    this.port?.terminate?.();
    this.port?.close?.();
    this.port = null;
  }
}
