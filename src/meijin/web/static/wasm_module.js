// @ts-check
/**
 * A compiled module in memory: its arrays and its functions, by the names that its manifest gives them.
 * Python's side is meijin/core/wasm: module.py says what a manifest holds, emit.py how functions are called.
 */

/** @typedef {{type: string, shape: number[], size: number, fields?: Object<string, [string, number, number]>,
 *             data?: string, within?: [string, number]}} ArrayInfo */
/** @typedef {{arrays: Object<string, ArrayInfo>, functions: Object<string, {arrays: string[], numbers: number}>}}
 *  Manifest */
/** @typedef {Int8Array | Uint8Array | Int16Array | Int32Array | Uint32Array | Float32Array | Float64Array |
 *            BigInt64Array | BigUint64Array} View */

/** @type {Object<string, any>} */
const VIEWS = {
  i1: Int8Array, u1: Uint8Array, b1: Uint8Array, i2: Int16Array, u2: Uint16Array, i4: Int32Array, u4: Uint32Array,
  f4: Float32Array, f8: Float64Array, i8: BigInt64Array, u8: BigUint64Array,
};
const PAGE = 65536, ALIGN = 64;

/** Thrown when compiled code breaks off, or memory runs out; the message is for people. */
export class ModuleError extends Error {}

/** The functions that a module may import. @param {WasmModule} owner */
function imports(owner) {
  /** @type {Object<string, Function>} */
  const env = {
    fail: (/** @type {number} */ text, /** @type {number} */ length) => {
      const bytes = new Uint8Array(owner.memory.buffer, text, length);
      throw new ModuleError(`the rules stopped with ${new TextDecoder().decode(bytes)}`);
    },
    stopped: () => (owner.stopped() ? 1 : 0),
    fmod: (/** @type {number} */ a, /** @type {number} */ b) => a % b,
    // C rounds half away from zero
    round: (/** @type {number} */ x) => Math.sign(x) * Math.round(Math.abs(x)),
    exp2: (/** @type {number} */ x) => Math.pow(2, x),
  };
  for (const name of ["acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "cos", "cosh", "exp", "expm1", "hypot",
    "log", "log10", "log1p", "log2", "pow", "sin", "sinh", "tan", "tanh"]) {
    env[name] = /** @type {any} */ (Math)[name];
  }
  for (const name of Object.keys(env)) {
    if (name !== "fail" && name !== "stopped") {
      const exact = env[name];
      env[`${name}f`] = (/** @type {number[]} */ ...args) => Math.fround(exact(...args));
    }
  }
  return { env };
}

export class WasmModule {
  /** @param {WebAssembly.Module} module @param {Manifest} manifest */
  constructor(module, manifest) {
    this.manifest = manifest;
    /** Whether a search that asks is to return; whoever searches sets it. */
    this.stopped = () => false;
    const instance = new WebAssembly.Instance(module, /** @type {any} */ (imports(this)));
    this.exports = /** @type {any} */ (instance.exports);
    this.memory = /** @type {WebAssembly.Memory} */ (this.exports.memory);
    this.free = Number(this.exports.__heap_base.value);
    /** @type {Map<string, {at: number, shape: number[], room: number}>} */
    this.placed = new Map();
    /** @type {Map<string, View>} */
    this.views = new Map();
    /** @type {Map<string, number>} */
    this.blocks = new Map();
    /** @type {Set<string>} functions whose block is up to date */
    this.ready = new Set();
  }

  /** Room for so many bytes, filled with zeros. @param {number} bytes */
  allocate(bytes) {
    const at = Math.ceil(this.free / ALIGN) * ALIGN, end = at + bytes, has = this.memory.buffer.byteLength;
    if (end > has) {
      try {
        this.memory.grow(Math.ceil((end - has) / PAGE));
      } catch {
        throw new ModuleError(`out of memory: the search needs ${Math.ceil(end / 2 ** 20)} MB`);
      }
      this.views.clear(); // the views of the old buffer are dead
    }
    this.free = end;
    return at;
  }

  /** Where an array is; it gets its place when it is first asked for, or a new one for another shape.
   *  @param {string} name @param {number[]=} shape */
  place(name, shape) {
    const info = this.manifest.arrays[name];
    const known = this.placed.get(name);
    if (known && (!shape || String(shape) === String(known.shape))) return known;
    const wanted = shape ?? info.shape, size = itemsize(info.type) * product(wanted);
    let at = known && size <= known.room ? known.at : -1;
    if (at < 0) at = info.within ? this.place(info.within[0]).at + info.within[1] : this.allocate(size);
    const found = { at, shape: wanted, room: Math.max(size, known && known.at === at ? known.room : 0) };
    this.put(name, found);
    if (info.data && !shape) {
      const bytes = Uint8Array.from(atob(info.data), (c) => c.charCodeAt(0));
      new Uint8Array(this.memory.buffer, found.at, bytes.length).set(bytes);
    }
    return found;
  }

  /** Have an array somewhere else. @param {string} name @param {{at: number, shape: number[], room: number}} found */
  put(name, found) {
    this.placed.set(name, found);
    this.views.delete(name);
    for (const [other, info] of Object.entries(this.manifest.arrays)) {
      if (info.within?.[0] === name) {
        this.placed.delete(other);
        this.views.delete(other);
      }
    }
    this.ready.clear();
  }

  /** An array's numbers; a record's bytes. The view is good until memory grows. @param {string} name @returns {any} */
  array(name) {
    let view = this.views.get(name);
    if (!view) {
      const { at, shape } = this.place(name), kind = this.manifest.arrays[name].type;
      const length = product(shape);
      view = VIEWS[kind]
        ? new VIEWS[kind](this.memory.buffer, at, length)
        : new Uint8Array(this.memory.buffer, at, length * itemsize(kind));
      this.views.set(name, /** @type {View} */ (view));
    }
    return view;
  }

  /** Numbers of a field in an array of records: `get(index, part)`. @param {string} name @param {string} field */
  field(name, field) {
    const info = this.manifest.arrays[name], [kind, offset] = /** @type {any} */ (info.fields)[field];
    const { at } = this.place(name), size = itemsize(info.type), view = new DataView(this.memory.buffer);
    const read = READERS[kind], width = Number(kind.slice(1));
    return (/** @type {number} */ index, part = 0) => read(view, at + index * size + offset + part * width);
  }

  /** Call a function with its arrays. @param {string} name @param {number[]} numbers @returns {number} */
  run(name, ...numbers) {
    let block = this.blocks.get(name) ?? 0;
    if (!this.ready.has(name)) {
      const places = this.manifest.functions[name].arrays.map((array) => this.place(array));
      const words = places.flatMap(({ at, shape }) => [at, ...shape]);
      block ||= this.allocate(4 * words.length);
      new Uint32Array(this.memory.buffer, block, words.length).set(words);
      this.blocks.set(name, block);
      this.ready.add(name);
    }
    try {
      return this.exports[name](block, ...numbers);
    } catch (error) {
      if (error instanceof ModuleError) throw error;
      throw new ModuleError(`the compiled rules broke off in '${name}': ${/** @type {Error} */ (error).message}`);
    }
  }
}

/** @type {Object<string, (view: DataView, at: number) => number>} */
const READERS = {
  i1: (view, at) => view.getInt8(at), u1: (view, at) => view.getUint8(at), i2: (view, at) => view.getInt16(at, true),
  i4: (view, at) => view.getInt32(at, true), u4: (view, at) => view.getUint32(at, true),
  f4: (view, at) => view.getFloat32(at, true), f8: (view, at) => view.getFloat64(at, true),
};

/** @param {string} kind as in "f8", "V24" */
function itemsize(kind) {
  return Number(kind.slice(1));
}

/** @param {number[]} shape */
function product(shape) {
  return shape.reduce((a, b) => a * b, 1);
}
