"""pgx: random playouts, a batch of games in one compiled loop that starts a new game where one ended."""

import os
from importlib.metadata import version

import dialogue

dialogue.keep_to_one_core()  # before XLA counts the cores
os.environ["JAX_PLATFORMS"] = "cpu"

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import pgx  # noqa: E402
from pgx.experimental import auto_reset  # noqa: E402

GAMES = {name: name for name in ("tic_tac_toe", "connect_four", "othello")}  # with the same rules as here
OTHER = {
    "shogi3": "shogi"
}  # the nearest that there is: two players, and moves that leave a king in check are out
BATCHES = (256, 1024, 4096)
SLOW_BATCHES = (64,)  # of the others: a move takes milliseconds, and the compiler a minute for each size
STEPS = 32


def make_loop(name: str, batch: int, batches: tuple[int, ...]) -> dialogue.Job:
    """Compile a loop of STEPS moves in each of `batch` games, a size out of `batches`."""
    env = pgx.make(name)
    init, step = jax.vmap(env.init), jax.vmap(auto_reset(env.step, env.init))

    def move(_, carry):  # type: ignore[no-untyped-def]
        state, key = carry
        key, draw, reset = jax.random.split(key, 3)
        mask = state.legal_action_mask
        choice = jax.random.uniform(draw, (batch,)) * mask.sum(axis=1)
        action = (jnp.cumsum(mask, axis=1) > choice[:, None]).argmax(axis=1)
        return step(state, action, jax.random.split(reset, batch)), key

    loop = jax.jit(lambda state, key: jax.lax.fori_loop(0, STEPS, move, (state, key)))
    kept = [jax.jit(init)(jax.random.split(jax.random.PRNGKey(0), batch)), jax.random.PRNGKey(1)]

    def work() -> int:
        kept[:] = loop(*kept)
        jax.block_until_ready(kept)
        return batch * STEPS

    of = f"{name}, " if name in OTHER.values() else ""
    return dialogue.Job(work, f"{of}compiled loop over {batch} games, auto_reset, the best of {batches}")


def prepare_playouts(params: dialogue.Params) -> dialogue.Job | None:
    """Take the batch size that is fastest here."""
    name = {**GAMES, **OTHER}.get(params["game"])
    if name is None:
        return None
    batches = SLOW_BATCHES if name in OTHER.values() else BATCHES
    jobs = [make_loop(name, batch, batches) for batch in batches]
    for job in jobs:
        job.work()
    return max(jobs, key=lambda job: dialogue.measure(job.work, 0.3)) if len(jobs) > 1 else jobs[0]


if __name__ == "__main__":
    dialogue.main(
        dialogue.Peer(
            "pgx",
            version("pgx"),
            {"rules/moves_per_s": prepare_playouts},
            [("rules/moves_per_s", {"game": game}) for game in (*GAMES, *OTHER)],
        )
    )
