// Loads a module written by zelkova.export, in a browser or in Node, and looks after its memory.
//
//   const game = await load(bytes);              // an ArrayBuffer or Uint8Array of the .wasm file
//   const state = game.newStates(1);             // an address; positions are rows of game.about.words words
//   game.call.init(state, 0n);                   // seeds and hashes are BigInt, all else plain numbers
//   const out = game.allocate(4 * game.about.max_legal_actions);
//   const count = game.call.legal_actions(state, out);
//   const legal = game.view(Int32Array, out, count);
//
// Views end when memory grows: take them after the last allocate(), or anew.

const PAGE = 65536;

export async function load(bytes) {
  const module = await WebAssembly.compile(bytes);
  const [section] = WebAssembly.Module.customSections(module, "zelkova");
  if (!section) throw new Error("this is no module of zelkova's: the section `zelkova` is missing");
  const about = JSON.parse(new TextDecoder().decode(section));
  const { exports } = await WebAssembly.instantiate(module, {});
  return new Loaded(about, exports);
}

class Loaded {
  constructor(about, exports) {
    this.about = about; // what the exporter wrote: sizes of the game, shapes of the search's arrays
    this.call = exports; // the functions by name; addresses are unsigned 32-bit numbers
    this.next = exports.__heap_base.value;
  }

  // Reserves zeroed memory for good; grows the module's memory first where it is too small.
  allocate(size) {
    const address = (this.next + 63) & ~63;
    const { memory } = this.call;
    const missing = address + size - memory.buffer.byteLength;
    if (missing > 0) memory.grow(Math.ceil(missing / PAGE));
    this.next = address + size;
    return address;
  }

  // Sees memory as a typed array, without a copy.
  view(Type, address, length) {
    return new Type(this.call.memory.buffer, address, length);
  }

  // Reserves `count` positions with the game's settings filled in, ready for init.
  newStates(count) {
    const words = this.about.template.map(BigInt);
    const states = this.allocate(8 * words.length * count);
    const view = this.view(BigUint64Array, states, words.length * count);
    for (let row = 0; row < count; row++) view.set(words, row * words.length);
    return states;
  }

  // Reserves one search; its functions are call.search_*, its arrays are seen through searchView.
  newSearch() {
    const { size, constants, fields } = this.about.search;
    const search = this.allocate(size);
    for (const [name, text] of Object.entries(constants)) {
      const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
      this.view(Uint8Array, search + fields[name].offset, bytes.length).set(bytes);
    }
    return search;
  }

  // Sees one of a search's arrays, as `desk.logits` or `answer.visits`, flat.
  searchView(search, name) {
    const { offset, shape, type } = this.about.search.fields[name];
    return this.view(TYPES[type], search + offset, shape.reduce((product, side) => product * side, 1));
  }
}

const TYPES = {
  float32: Float32Array,
  float64: Float64Array,
  int32: Int32Array,
  uint64: BigUint64Array,
};
