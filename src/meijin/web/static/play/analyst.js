/**
 * An agent that looks at whatever position is shown, for as long as it is on.
 *
 * @import {Limit, Stream} from "../engine.js"
 * @import {Session} from "./session.js"
 * @import {Node} from "./tree.js"
 */

import { toast } from "../ui/kit.js";

export class Analyst {
  /** @param {Session} session */
  constructor(session) {
    this.session = session;
    this.on = false;
    this.agent = "";
    /** @type {Limit} */
    this.limit = { seconds: 20 };
    /** @type {Stream | null} */
    this.stream = null;
    this.busy = false;
    this.problem = "";
  }

  /** @param {string} agent @param {Limit} [limit] */
  start(agent, limit) {
    this.stop();
    this.on = true;
    this.agent = agent;
    if (limit) this.limit = limit;
    this.moved();
  }

  stop() {
    this.on = false;
    this.stream?.stop();
    this.stream = null;
    this.busy = false;
    this.#tell();
  }

  /** Another position is shown. */
  moved() {
    this.stream?.stop();
    this.stream = null;
    this.busy = false;
    const node = this.session.current;
    if (!this.on || !node.look || node.look.turn < 0 || node.analyses.get(this.agent)?.final) {
      this.#tell();
      return;
    }
    void this.#run(node);
  }

  /** @param {Node} node */
  async #run(node) {
    const { session, agent } = this;
    const stream = session.engine.analyse(session.place(node), { agent, limit: this.limit, every: 0.2 });
    this.stream = stream;
    this.busy = true;
    this.problem = "";
    try {
      for await (const analysis of stream) {
        if (this.stream !== stream) return;
        session.heard(node, agent, analysis);
      }
    } catch (error) {
      if (this.stream !== stream) return;
      this.problem = error instanceof Error ? error.message : String(error);
      toast(this.problem, "error");
      this.on = false;
    } finally {
      if (this.stream === stream) {
        this.stream = null;
        this.busy = false;
        this.#tell();
      }
    }
  }

  #tell() {
    this.session.dispatchEvent(new Event("change"));
    this.session.dispatchEvent(new Event("thought"));
  }
}
