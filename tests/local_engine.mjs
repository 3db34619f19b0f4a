// The page's own engine run by Node, without workers: reads a folder of published games and a list of questions from
// standard input, and writes the answers, or {error, code}, as JSON.
import fs from "node:fs";

const [script, folder] = process.argv.slice(2);
const { localEngine } = await import(script);
const read = (name) => fs.readFileSync(`${folder}/${name}`);
const engine = await localEngine({
  json: async (name) => JSON.parse(read(name)),
  bytes: async (name) => new Uint8Array(read(name)).buffer,
  worker: () => {
    throw new Error("no workers here");
  },
});

/** What can be asked, beside the methods of the engine. */
const more = {
  /** The last analysis. */
  async analyse(at, question) {
    let last = null;
    for await (const analysis of engine.analyse(at, question)) last = analysis;
    return last;
  },
  /** A game between agents, to its end. */
  async game(options) {
    const table = await engine.tables.create(options);
    await new Promise((resolve) => {
      const look = () => (table.state.result || table.state.problem) && resolve();
      table.addEventListener("change", look);
      look();
    });
    return table.state;
  },
};

const answers = [];
for (const [name, ...args] of JSON.parse(fs.readFileSync(0))) {
  try {
    answers.push(await (more[name] ?? engine[name])(...args));
  } catch (error) {
    answers.push({ error: error.message, code: error.code });
  }
}
process.stdout.write(JSON.stringify(answers), () => process.exit(0));
