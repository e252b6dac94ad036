"""From a checkpoint to an agent, and every way in which there is none."""

import json
from pathlib import Path

import pytest
import torch
from tests.agents.counting import positions, stack

from zelkova import games
from zelkova.agents.load import CHECKPOINTS, describe, find_checkpoint, load_agent
from zelkova.errors import CheckpointError, ConfigError, GameError
from zelkova.networks.build import build_network
from zelkova.networks.config import NetworkConfig
from zelkova.networks.weights import load_weights, save_weights
from zelkova.search.config import SearchConfig

NETWORK = NetworkConfig(kind="mlp", channels=4, blocks=1)
GAME = "tic_tac_toe"


def write(path: Path, seed: int = 0, **words: str) -> Path:
    """Write a checkpoint of an untrained network; words change its description."""
    game = games.load(GAME)
    module = build_network(
        NETWORK, game.observation_shape, game.num_actions, game.num_players, game.has_draws, seed
    )
    tensors = {f"network.{name}": tensor for name, tensor in module.state_dict().items()}
    tensors["optimizer.x"] = torch.zeros(1)
    path.parent.mkdir(parents=True, exist_ok=True)
    described = describe(game, NETWORK, SearchConfig(num_simulations=6), "network.")
    save_weights(path, tensors, {**described, **words})
    return path


@pytest.fixture
def run(tmp_path: Path) -> Path:
    for number in (1, 2, 3):
        write(tmp_path / "run" / CHECKPOINTS / f"{number:08d}.safetensors", number)
    return tmp_path / "run"


def test_a_run_gives_its_newest_checkpoint_and_plays_without_noise(run: Path) -> None:
    assert find_checkpoint(run)[0].name == "00000003.safetensors"
    agent = load_agent(run, batch=2)
    assert (agent.game.name, agent.config.num_simulations) == (GAME, 6)
    assert (agent.config.gumbel_scale, agent.config.dirichlet_fraction) == (0.0, 0.0)
    states = stack(positions(agent.game, 3))
    result = agent.act(states)
    assert result.visit_counts.sum(axis=1).tolist() == [6, 6, 6]
    named = load_agent(run / CHECKPOINTS / "00000003.safetensors", batch=2, num_simulations=9)
    assert named.act(states).visit_counts.sum(axis=1).tolist() == [9, 9, 9]


def test_a_damaged_or_foreign_newest_one_is_passed_over(run: Path) -> None:
    folder = run / CHECKPOINTS
    newest = folder / "00000003.safetensors"
    newest.write_bytes(newest.read_bytes()[:-7])
    assert find_checkpoint(run)[0].name == "00000002.safetensors"
    newest.write_bytes(b"PK\x03\x04 as torch.save writes")
    write(folder / "best.safetensors", 9)
    (folder / ".00000004.safetensors.tmp").write_bytes(b"half")
    (folder / "00000009.safetensors.superseded").write_bytes(newest.read_bytes())
    assert find_checkpoint(run)[0].name == "00000002.safetensors"
    for number in (1, 2):
        (folder / f"{number:08d}.safetensors").write_bytes(b"")
    with pytest.raises(CheckpointError, match=r"no checkpoint of .* can be read: .*00000003.*00000001"):
        load_agent(run)


def test_nothing_there_says_what_is_allowed(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match=r"nowhere` does not exist; allowed: a run's folder"):
        load_agent(tmp_path / "nowhere")
    with pytest.raises(CheckpointError, match=r"has no checkpoints/NNNNNNNN\.safetensors"):
        load_agent(tmp_path)


def test_a_named_file_is_not_replaced_by_another(run: Path) -> None:
    newest = run / CHECKPOINTS / "00000003.safetensors"
    newest.write_bytes(newest.read_bytes()[:100])
    with pytest.raises(CheckpointError, match=r"00000003.* damaged"):
        load_agent(newest)


@pytest.mark.parametrize(
    ("words", "error", "message"),
    [
        ({"network": "[1, 2"}, CheckpointError, "does not describe an agent"),
        ({"network": '{"chanels": 3}'}, CheckpointError, "does not describe an agent"),
        ({"network": '{"channels": -3}'}, ConfigError, "network.channels is -3"),
        ({"network": json.dumps({"kind": "mlp", "channels": 8})}, CheckpointError, "holds another network"),
        ({"search": '{"simulations": 3}'}, CheckpointError, "does not describe an agent"),
        ({"search": '"text"'}, CheckpointError, "does not describe an agent"),
        ({"acting": "ema."}, CheckpointError, "is missing"),
        ({"game": "gone.py"}, GameError, "no such game file: gone.py"),
        ({"game": "chess960"}, GameError, "unknown game `chess960`"),
        ({"game": "connect_four"}, CheckpointError, "holds another network"),
        ({"game_options": '{"height": 9}'}, ConfigError, "no options"),
    ],
)
def test_an_edited_description_is_one_clear_error(
    tmp_path: Path, words: dict[str, str], error: type[Exception], message: str
) -> None:
    path = write(tmp_path / "c.safetensors", 0, **words)
    with pytest.raises(error, match=message):
        load_agent(path)


def test_weights_without_a_description_are_no_agent(tmp_path: Path) -> None:
    tensors, _ = load_weights(write(tmp_path / "c.safetensors"))
    save_weights(tmp_path / "bare.safetensors", tensors, {})
    with pytest.raises(CheckpointError, match=r"does not describe an agent \(KeyError\('game'\)\)"):
        load_agent(tmp_path / "bare.safetensors")


def test_an_unknown_search_setting_names_the_nearest(run: Path) -> None:
    with pytest.raises(ConfigError, match="did you mean `c_visit`"):
        load_agent(run, c_vist=3.0)
    with pytest.raises(ConfigError, match="num_simulations = 0"):
        load_agent(run, num_simulations=0)
