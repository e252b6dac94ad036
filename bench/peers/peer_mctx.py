"""mctx: whole searches, compiled, with a model that looks its answers up in a table."""

import os
from importlib.metadata import version

import dialogue

dialogue.keep_to_one_core()  # before XLA counts the cores
os.environ["JAX_PLATFORMS"] = "cpu"

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import mctx  # noqa: E402
import tables  # noqa: E402


def recurrent(params, rng, action, state):  # type: ignore[no-untyped-def]
    """Look the next state up."""
    logits, values, transition = params
    after = transition[state, action]
    zeros = jnp.zeros(after.shape, jnp.float32)
    answer = mctx.RecurrentFnOutput(
        reward=zeros, discount=zeros + 1, prior_logits=logits[after], value=values[after]
    )
    return answer, after


def prepare_search(params: dialogue.Params) -> dialogue.Job | None:
    """Count simulations of a batch of searches."""
    trees, count = int(params["trees"]), int(params["simulations"])
    policy = {"puct": mctx.muzero_policy, "gumbel": mctx.gumbel_muzero_policy}[params["policy"]]
    model = tuple(jnp.asarray(table) for table in tables.make_tables(int(params["actions"])))
    more = {"max_num_considered_actions": 16} if params["policy"] == "gumbel" else {}

    @jax.jit
    def search(key, state, model):  # type: ignore[no-untyped-def]
        root = mctx.RootFnOutput(prior_logits=model[0][state], value=model[1][state], embedding=state)
        return policy(model, key, root, recurrent, num_simulations=count, **more).action_weights

    state = jnp.arange(trees, dtype=jnp.int32)
    keys = [jax.random.PRNGKey(0)]

    def work() -> int:
        keys[0] = jax.random.split(keys[0])[0]
        search(keys[0], state, model).block_until_ready()
        return trees * count

    return dialogue.Job(work, f"{policy.__name__}, compiled whole, a table as model")


if __name__ == "__main__":
    dialogue.main(
        dialogue.Peer(
            "mctx",
            version("mctx"),
            {"search/simulations_per_cpu_s": prepare_search},
            [
                (
                    "search/simulations_per_cpu_s",
                    {"trees": b, "simulations": n, "actions": a, "policy": policy},
                )
                for b, n, a in tables.ROWS
                for policy in ("puct", "gumbel")
            ],
        )
    )
