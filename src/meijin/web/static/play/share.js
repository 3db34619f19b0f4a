/**
 * A game in the address of the page: nothing is stored anywhere else.
 *
 * Moves are digits of base 64, as many per move as the game needs. A tree with variations or comments is JSON, deflated.
 *
 * @import {Description, Notes} from "../engine.js"
 */

const DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/** @param {Description} description */
function width({ moves, outcomes }) {
  const most = Math.max(moves.length, outcomes.length);
  return most <= 64 ? 1 : most <= 4096 ? 2 : 3;
}

/** @param {Description} description @param {number[]} line */
export function packMoves(description, line) {
  const digits = width(description);
  return line.map((move) => Array.from({ length: digits }, (_, i) => DIGITS[Math.floor(move / 64 ** (digits - 1 - i)) % 64]).join("")).join("");
}

/** @param {Description} description @param {string} text @returns {number[]} */
export function unpackMoves(description, text) {
  const digits = width(description);
  if (text.length % digits || [...text].some((c) => !DIGITS.includes(c))) throw new Error("This link is damaged: its moves cannot be read. Ask for it again.");
  const most = Math.max(description.moves.length, description.outcomes.length);
  return Array.from({ length: text.length / digits }, (_, i) => {
    const move = [...text.slice(i * digits, (i + 1) * digits)].reduce((n, c) => 64 * n + DIGITS.indexOf(c), 0);
    if (move >= most) throw new Error("This link is damaged: it names a move that the game does not have.");
    return move;
  });
}

/** @param {Notes} notes @returns {Promise<string>} */
export async function packTree(notes) {
  const small = [notes.comment, notes.nodes.map(({ parent, move, comment }) => (comment ? [parent, move, comment] : [parent, move]))];
  const packed = new Response(new Blob([JSON.stringify(small)]).stream().pipeThrough(new CompressionStream("deflate-raw")));
  const bytes = new Uint8Array(await packed.arrayBuffer());
  return btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join("")).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");
}

/** @param {string} text @returns {Promise<Notes>} */
export async function unpackTree(text) {
  try {
    const bytes = Uint8Array.from(atob(text.replace(/-/g, "+").replace(/_/g, "/")), (c) => c.charCodeAt(0));
    const plain = await new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"))).text();
    const [comment, nodes] = JSON.parse(plain);
    return { comment: String(comment), nodes: nodes.map((/** @type {any[]} */ [parent, move, said]) => ({ parent: Number(parent), move: Number(move), comment: said ? String(said) : "" })) };
  } catch {
    throw new Error("This link is damaged: its game cannot be read. Ask for it again.");
  }
}
