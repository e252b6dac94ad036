"""`zelkova arena RUN` where the run's agent acts in an environment: whole episodes and their mean return."""

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from zelkova.cli import console
from zelkova.errors import CheckpointError

if TYPE_CHECKING:
    from zelkova.agents.learned.agent import LearnedAgent
    from zelkova.cli.figures import Figures
    from zelkova.envs.batch import EnvBatch
    from zelkova.envs.config import EnvConfig
    from zelkova.games import Game

PARALLEL = 25  # episodes at a time


def is_of_environment(text: str) -> bool:
    """Say whether a text names a run, or a checkpoint, whose agent acts in an environment."""
    from zelkova.agents.packaged import is_agent

    if not is_agent(text):
        return False
    from zelkova.agents.load import find_checkpoint  # takes a second, as it brings PyTorch

    words = find_checkpoint(text)[2]
    return words.get("model") == "learned" and "game" not in words


class Opened(NamedTuple):
    """A run's agent and what it acts in."""

    agent: "LearnedAgent"
    envs: "EnvBatch"
    config: "EnvConfig"
    game: "Game | None"  # where it is a game whose rules stay hidden


def open_environment(
    text: str | Path,
    size: int,
    simulations: int | None = None,
    device: str = "auto",
    is_training: bool = False,
) -> Opened:
    """Load the agent of a learned model, and make what it acts in.

    Args:
        text: a run's folder or a checkpoint.
        size: environments, B.
        simulations: a decision; None: as in training.
        device: where the network runs.
        is_training: rewards and ends are those of training, as `make_batch` says.
    Raises:
        CheckpointError: the run can't be read, or is of other observations.
        ConfigError, GameError: its environment or its game would be code out of the run's own folder.
        EnvError, MissingExtraError: the environment can't be made.
    """
    from zelkova import settings
    from zelkova.agents.learned.load import load_learned
    from zelkova.agents.load import run_of
    from zelkova.cli.user_game import refuse_broken
    from zelkova.envs.config import EnvConfig
    from zelkova.envs.make import make_batch, refuse_inside

    parts = load_learned(text, num_simulations=simulations, device=device)
    made = parts.env.pop("make", {})
    config = settings.build(EnvConfig, {**parts.env, **made}, "env")
    refuse_inside(config.id, run_of(Path(text)))
    if parts.game is not None:
        refuse_broken(parts.game)
    envs = make_batch(config, size, is_training, parts.game)
    refuse_unlike(text, parts.agent, envs)
    return Opened(parts.agent, envs, config, parts.game)


def refuse_unlike(text: str | Path, agent: "LearnedAgent", envs: "EnvBatch") -> None:
    """Refuse an environment that is not like the one an agent was trained in.

    Raises:
        CheckpointError: it gives other observations, or takes other actions; it is closed.
    """
    trained, given = agent.network.sizes, envs.spec
    for words, name in (
        ("on observations", "observation_shape"),
        ("with numbered actions", "num_actions"),
        ("with actions of so many numbers", "action_dim"),
        ("with players", "num_players"),
    ):
        was, found = getattr(trained, name), getattr(given, name)
        if was != found:
            envs.close()
            raise CheckpointError(
                f"{text} was trained {words}: {was}; {given.name} here: {found}; next: the version of the"
                " environment that it was trained with"
            )


def play_in_environment(
    text: str, episodes: int, simulations: int | None, seed: int, device: str, figures: "Figures"
) -> None:
    """Play greedy episodes and say how they went.

    Args:
        text: a run's folder or a checkpoint.
        episodes: how many.
        simulations: a decision; None: as in training.
        seed: of the environments.
        device: where the network runs.
        figures: takes the figures.
    Raises:
        CheckpointError: the run can't be read.
        ConfigError: its environment would be code out of the run's own folder.
        EnvError, MissingExtraError: the environment can't be made or fails.
    """
    from zelkova.evaluation.episodes import play_episodes

    agent, envs, config, _ = open_environment(text, min(PARALLEL, episodes), simulations, device)
    count = agent.policy.num_simulations
    console.result(f"{config.id}, {count} simulations a decision, no noise")
    try:
        with console.Progress("episodes") as progress:

            def watch(done: int) -> None:
                progress.update(min(done / episodes, 1.0), {"episodes": done})

            result = play_episodes(envs, agent.act, episodes, seed, watch)
    finally:
        envs.close()
    played, returns = len(result.returns), result.returns[:, 0]
    params = {"run": text, "env": config.id, "episodes": played, "simulations": count, "seed": seed}
    figures.add("arena/return", result.mean, **params)
    figures.add("arena/return_error", result.error, **params)
    console.result(
        f"mean return {result.mean:.4g} (standard error {result.error:.2g}, {played} episodes);"
        f" worst {returns.min():.4g}, best {returns.max():.4g}; {result.lengths.mean():.4g} decisions a time"
    )
