// Plays games in which every move is searched: node search.mjs MODULE MOVES EVALUATION SEED NOISE
//
// EVALUATION: `rollouts`, or `table`: logits and values computed from the actions and planes (as test_search.py does).
// NOISE: 1 mixes the same share for every legal action into the priors of the root, 0 nothing.
// Prints one JSON object: for each move the action, visits, weights, q and value of the search.

import fs from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";

const [file, moves, evaluation, seed, noise] = process.argv.slice(2);
const { load } = await import(pathToFileURL(path.join(path.dirname(file), "loader.mjs")));
const game = await load(fs.readFileSync(file));
const { call, about } = game;
const state = game.newStates(1);
const counter = game.allocate(8);
const search = game.newSearch();
const see = (name) => game.searchView(search, name);
game.view(BigUint64Array, counter, 1)[0] = BigInt(seed);

function evaluate() {
  if (evaluation === "rollouts") return call.search_rollouts(search, counter);
  const asks = see("desk.asks");
  const logits = see("desk.logits");
  const planes = see("desk.planes");
  const value = see("rows.value");
  const size = planes.length / asks.length;
  for (let row = 0; row < asks.length; row++) {
    if (!asks[row]) continue;
    let sum = 0;
    for (let k = 0; k < size; k++) sum = (sum * 3 + planes[row * size + k]) % 65521;
    for (let a = 0; a < about.num_actions; a++)
      logits[row * about.num_actions + a] = ((sum + a * 37) % 64) / 16;
    for (let p = 0; p < about.num_players; p++) value[row * about.num_players + p] = ((sum + p * 11) % 32) / 32;
  }
}

const log = [];
call.init(state, 0n);
for (let move = 0; move < Number(moves) && !call.is_terminal(state); move++) {
  call.search_begin(search, state);
  evaluate();
  const count = see("rows.count")[0];
  if (noise === "1") see("forest.noise").fill(0).fill(1 / count, 0, count);
  let more = call.search_plant(search, Number(noise));
  while (more > 0) {
    call.search_select(search);
    evaluate();
    more = call.search_expand(search);
  }
  if (more < 0) throw new Error(`status ${more}`);
  call.search_read(search);
  const answer = { action: see("answer.action")[0] };
  for (const name of ["visits", "weights", "q", "value"]) answer[name] = [...see(`answer.${name}`)];
  log.push(answer);
  call.step(state, answer.action);
}
console.log(JSON.stringify(log));
