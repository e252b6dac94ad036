// Plays random games in a module and writes what came of them: node rules.mjs MODULE COUNT OUT
//
// OUT holds, one after the other: states, counter, total of plies, returns, planes; of the games after init,
// then of the ended games. A last line on stdout gives moves a second.

import fs from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";

const [file, count, out] = [process.argv[2], Number(process.argv[3]), process.argv[4]];
const { load } = await import(pathToFileURL(path.join(path.dirname(file), "loader.mjs")));
const game = await load(fs.readFileSync(file));
const { call, about } = game;
const [channels, height, width] = about.observation_shape;
const size = channels * height * width;
const stride = 8 * about.words;
const states = game.newStates(count);
const counter = game.allocate(8);
const actions = game.allocate(4 * Math.max(about.max_legal_actions, about.num_outcomes));
const probs = game.allocate(4 * about.num_outcomes);
const returns = game.allocate(4 * about.num_players);
const planes = game.allocate(4 * size);
const chunks = [];
const keep = (address, length) => chunks.push(Buffer.from(game.view(Uint8Array, address, length)));

game.view(BigUint64Array, counter, 1)[0] = 12345n;
for (let row = 0; row < count; row++) call.init(states + row * stride, BigInt(row));
for (const phase of ["first", "last"]) {
  const plies = phase === "first" ? 0 : call.playouts(states, count, counter, actions, probs);
  keep(states, stride * count);
  keep(counter, 8);
  chunks.push(Buffer.from(Int32Array.of(plies).buffer));
  for (let row = 0; row < count; row++) {
    const state = states + row * stride;
    chunks.push(Buffer.from(Int32Array.of(call.is_terminal(state)).buffer));
    call.observe(state, planes);
    keep(planes, 4 * size);
    if (phase === "last") {
      call.returns(state, returns);
      keep(returns, 4 * about.num_players);
    } else {
      const outcomes = call.chance ? call.chance(state, actions, probs) : 0;
      keep(probs, 4 * outcomes);
      const legal = outcomes || call.legal_actions(state, actions);
      keep(actions, 4 * legal);
      call.step(state, game.view(Int32Array, actions, 1)[0]);
    }
    if (call.position_hash) chunks.push(Buffer.from(BigUint64Array.of(call.position_hash(state)).buffer));
  }
}
fs.writeFileSync(out, Buffer.concat(chunks));
