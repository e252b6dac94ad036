"""Auxiliary heads: right targets of games made by hand, learning, exact resume, and no part in what plays."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from tests.training import assert_same_run, begin, metrics, newest, resume, tiny, turn

from zelkova import games
from zelkova.agents.load import load_agent
from zelkova.errors import ConfigError, ShapeError
from zelkova.games import Game
from zelkova.games.shogi3.notation import SEATS
from zelkova.games.shogi3.position import material, text_to_position
from zelkova.learning.config import LearningConfig
from zelkova.learning.learner import Learner
from zelkova.learning.losses import OutcomeBatch, OutcomeObjective, auxiliary_losses
from zelkova.networks.build import build_network
from zelkova.networks.config import HeadsConfig, NetworkConfig
from zelkova.networks.heads import build_heads
from zelkova.networks.onnx_graph import write_onnx
from zelkova.replay.buffer import ReplayBuffer
from zelkova.replay.config import ReplayConfig
from zelkova.replay.episode import Episode
from zelkova.replay.packing import pack_episodes, unpack_episodes
from zelkova.replay.targets import OutcomeSpec, make_targets, split_aftermath
from zelkova.wheel.heads import foresee, make_foresee
from zelkova.wheel.known import KnownWheel

ALL = HeadsConfig(rank=0.3, next_eliminated=0.2, final_material=0.1, plies_left=0.1)
ON = (
    "heads.rank=0.3", "heads.plies_left=0.1", "learning.warmup_steps=0", "learning.learning_rate=0.01",
    "learning.samples_per_position=8",
)  # fmt: skip
# Blue's rook faces Red's king, and Green's gold stands beside Blue's king
LAST = "4rK4/9/9/9/4bR4/9/9/9/4bKgG2gK b -/-/- - 0 own"


def play(game: Game, state: NDArray[np.uint64], moves: list[str]) -> Episode:
    """Play moves from a state to the end and make a game of it."""
    position = games.game.Position(game, state)
    states, to_play, actions = [], [], []
    for move in moves:
        states.append(position.state[0])
        to_play.append(position.to_play)
        action = position.text_to_action(move)
        actions.append(action)
        position.play(action)
    assert position.is_terminal
    count = len(moves)
    return Episode(
        seed=0,
        states=np.stack(states),
        to_play=np.array(to_play, np.int8),
        actions=np.array(actions, np.int32),
        counts=np.ones(count, np.int32),
        legal=np.array(actions, np.int32),
        policy=np.ones(count, np.float32),
        root_values=np.full((count, game.num_players), 1 / 3, np.float32),
        returns=position.returns,
        recorded=np.ones(count, np.bool_),
        ending=position.state[0],
    )


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """OpenMP's threads spin, and would wait on whatever else this machine runs."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def shogi3() -> Game:
    return games.load("shogi3")


@pytest.fixture(scope="module")
def fought(shogi3: Game) -> Episode:
    """Blue takes Red's king, Green takes Blue's."""
    return play(shogi3, text_to_position(shogi3, LAST), ["5e5a", "4i5i"])


def test_targets_of_a_game_worked_by_hand(shogi3: Game, fought: Episode) -> None:
    went = split_aftermath(foresee(shogi3, ALL, fought))
    blue, red, green = map(SEATS.index, "brg")
    assert went.places.tolist() == [[2.0, 3.0, 1.0]] * 2, "the later fallen stand before the earlier"
    assert went.next_eliminated.tolist() == [red, blue]
    assert went.plies_left.tolist() == [2.0, 1.0]
    assert fought.ending is not None
    owned = material(shogi3, fought.ending[None])
    assert (owned[blue], owned[red], owned[green]) == (900, 0, 500), "a fallen army's rook still stands"
    np.testing.assert_allclose(went.material, [[9 / 14, 0, 5 / 14]] * 2, rtol=1e-6)


def test_where_nobody_falls_any_more_none_is_next(shogi3: Game) -> None:
    alone = "rK8/9/9/9/9/9/9/9/4bKgG2gK g -/-/- r 0 own"
    state = text_to_position(shogi3, alone.replace("rK8", "9"))
    taken = foresee(shogi3, ALL, play(shogi3, state, ["4i5i"]))
    assert split_aftermath(taken).next_eliminated.tolist() == [0.0]
    walks = text_to_position(shogi3, "9/9/9/9/9/9/9/gK8/8bK g -/-/- r 498 own")
    at_limit = foresee(shogi3, ALL, play(shogi3, walks, ["9h9g"]))
    went = split_aftermath(at_limit)
    assert went.next_eliminated.tolist() == [3.0]
    np.testing.assert_allclose(went.material, [[1 / 3] * 3], err_msg="nobody has anything: equal shares")


def test_places_follow_the_returns_where_a_game_has_no_more_to_say() -> None:
    game = games.load("tic_tac_toe")
    won = play(game, game.position().state, ["a1", "b1", "a2", "b2", "a3"])
    went = split_aftermath(foresee(game, HeadsConfig(rank=1.0), won))
    assert went.places.tolist() == [[1.0, 2.0]] * 5
    assert went.plies_left.tolist() == [5.0, 4.0, 3.0, 2.0, 1.0]
    drawn = play(game, game.position().state, ["a1", "b2", "c3", "b1", "b3", "a3", "c1", "c2", "a2"])
    assert split_aftermath(foresee(game, HeadsConfig(rank=1.0), drawn)).places.tolist() == [[1.0, 1.0]] * 9


@pytest.mark.parametrize(
    ("game", "heads", "said"),
    [
        ("connect_four_3p", HeadsConfig(next_eliminated=0.2), r"lacks the function eliminated\(state, out\)"),
        ("connect_four", HeadsConfig(final_material=0.2), r"lacks the function material\(state, out\)"),
        ("2048", HeadsConfig(rank=0.2), "has one player"),
    ],
)
def test_what_a_game_lacks_is_named(game: str, heads: HeadsConfig, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        make_foresee(games.load(game), heads)


def test_weights_out_of_range_are_refused() -> None:
    for value in (-0.1, float("nan"), True, "much"):
        with pytest.raises(ConfigError, match=r"heads\.rank is"):
            HeadsConfig(rank=value)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match=r"heads\.hidden is 0"):
        HeadsConfig(hidden=0)
    with pytest.raises(ConfigError, match="model = learned, where nothing reads it"):
        tiny("heads.rank=0.3", source="muzero-tictactoe")


def test_seats_turn_with_the_view(shogi3: Game, fought: Episode) -> None:
    buffer = ReplayBuffer(
        ReplayConfig(), shogi3.words, shogi3.max_legal_actions, 3, make_foresee(shogi3, ALL)
    )
    buffer.add(fought)
    batch = buffer.window_rows()
    assert batch.progress.tolist() == [0.0, 0.5]
    absolute = make_targets(batch, OutcomeSpec(3, (0.0, 1.0), "absolute", False)).aftermath
    np.testing.assert_array_equal(absolute, foresee(shogi3, ALL, fought))
    went = split_aftermath(make_targets(batch, OutcomeSpec(3, (0.0, 1.0), "mover", False)).aftermath)
    assert went.places.tolist() == [[2.0, 3.0, 1.0], [1.0, 2.0, 3.0]], "the second mover is Green"
    assert went.next_eliminated.tolist() == [1.0, 1.0]
    np.testing.assert_allclose(went.material[1], [5 / 14, 9 / 14, 0], rtol=1e-6)


def test_endings_come_back_from_a_chunk_and_older_chunks_lack_them(shogi3: Game, fought: Episode) -> None:
    packed = pack_episodes([fought, fought])
    again = unpack_episodes(packed)[1]
    assert again.ending is not None
    np.testing.assert_array_equal(again.ending, fought.ending)
    del packed["ending"]
    (old, _) = unpack_episodes(packed)
    with pytest.raises(ShapeError, match="did not keep how games ended"):
        foresee(shogi3, ALL, old)


def test_losses_have_the_values_worked_by_hand() -> None:
    aftermath = torch.tensor([[2.0, 3.0, 1.0, 3.0, 0.5, 0.0, 0.5, 7.0]])
    even = {
        "rank": torch.zeros(1, 9), "next_eliminated": torch.zeros(1, 4), "final_material": torch.zeros(1, 3),
        "plies_left": torch.log(torch.tensor([[4.0]])),
    }  # fmt: skip
    losses = {name: float(loss) for name, loss in auxiliary_losses(even, aftermath).items()}
    assert losses["rank"] == pytest.approx(np.log(3))
    assert losses["next_eliminated"] == pytest.approx(np.log(4))
    assert losses["final_material"] == pytest.approx(np.log(3))
    assert losses["plies_left"] == pytest.approx(np.log(2) ** 2 / 2), "3 moves in the place of 7"
    sure = {"rank": 50.0 * torch.eye(3)[[1, 2, 0]].reshape(1, 9), "next_eliminated": 50.0 * torch.eye(4)[3:]}
    assert all(float(loss) < 1e-6 for loss in auxiliary_losses(sure, aftermath).values())
    with pytest.raises(ShapeError, match="rank"):
        auxiliary_losses({"rank": torch.zeros(1, 4)}, aftermath)


@pytest.mark.parametrize("kind", ["residual", "mlp"])
def test_each_head_moves_the_tower(kind: str) -> None:
    config = NetworkConfig(kind=kind, channels=4, blocks=1)  # type: ignore[arg-type]
    network = build_network(config, (2, 3, 3), 5, 3, True)
    heads = build_heads(ALL, network, 3)
    assert heads is not None
    for parameter in heads.parameters():
        torch.nn.init.normal_(parameter)
    planes = torch.randn(4, 2, 3, 3)
    rows = torch.tensor([[1.0, 2.0, 3.0, 0.0, 0.5, 0.25, 0.25, 9.0]]).repeat(4, 1)
    first = next(network.parameters())
    for name in ALL.weights:
        network.zero_grad()
        answers = heads(network.summarise(network.embed(planes)))  # type: ignore[operator]
        auxiliary_losses({name: answers[name]}, rows)[name].backward()  # type: ignore[no-untyped-call]
        assert first.grad is not None
        assert first.grad.abs().sum() > 0, name


def test_a_batch_is_learnt_and_what_acts_is_no_larger() -> None:
    config = LearningConfig(batch_size=8, precision="float32", warmup_steps=0, learning_rate=0.01)
    network = build_network(NetworkConfig(channels=8, blocks=1), (2, 3, 3), 5, 3, True)
    heads = build_heads(ALL, network, 3)
    objective = OutcomeObjective(config, OutcomeSpec(3, (0.0, 1.0)), ALL, heads)
    learner = Learner(network, config, objective, heads=heads)
    rng = np.random.default_rng(0)
    aftermath = np.array([[1, 2, 3, 0, 0.6, 0.4, 0, 30], [2, 1, 2, 3, 0.2, 0.2, 0.6, 2]], np.float32)
    batch = OutcomeBatch(
        rng.normal(size=(8, 2, 3, 3)).astype(np.float32),
        np.tile(np.arange(5, dtype=np.int32), (8, 1)),
        np.full((8, 5), 0.2, np.float32),
        np.tile(np.eye(4, dtype=np.float32)[0], (8, 1)),
        np.full((8, 3), 1 / 3, np.float32),
        aftermath=aftermath[np.arange(8) % 2],
    )
    losses = [learner.step(batch)[0] for _ in range(60)]
    for name in ALL.weights:
        least = 0.812 if name == "final_material" else 0.0  # the mean entropy of the two rows' shares
        assert losses[-1][f"{name}_loss"] - least < 0.3 * (losses[0][f"{name}_loss"] - least), name
    plain = build_network(NetworkConfig(channels=8, blocks=1), (2, 3, 3), 5, 3, True)
    acting = learner.acting_network
    assert acting.state_dict().keys() == plain.state_dict().keys()
    assert len(write_onnx(acting, (2, 3, 3), None)) == len(write_onnx(plain, (2, 3, 3), None))


def test_without_heads_nothing_is_kept() -> None:
    network = build_network(NetworkConfig(channels=4, blocks=1), (2, 3, 3), 9, 2, True)
    assert build_heads(HeadsConfig(), network, 2) is None
    wheel = KnownWheel(tiny())
    assert wheel.buffer.window_rows().aftermath.shape == (0, 0)
    assert not [name for name in wheel.learner.state().tensors if name.startswith("heads.")]
    wheel.close()


def test_a_run_with_heads_learns_them_and_goes_on_exactly(tmp_path: Path) -> None:
    begin(tmp_path / "straight", *ON, rounds=6).wheel.close()
    run = begin(tmp_path / "stopped", *ON, rounds=3)
    run.save()
    run.wheel.close()
    run, refused = resume(tmp_path / "stopped")
    assert refused == []
    turn(run, 3)
    run.wheel.close()
    run = resume(tmp_path / "straight")[0]
    assert_same_run(tmp_path / "straight", tmp_path / "stopped")
    lines = [line for line in metrics(tmp_path / "straight") if "learn/rank_loss" in line]
    for name in ("learn/rank_loss", "learn/plies_left_loss"):
        assert lines[-1][name] < lines[0][name]
    assert "learn/next_eliminated_loss" not in lines[0]
    saved = newest(tmp_path / "straight").learner.tensors
    assert {name for name in saved if name.startswith("heads.out.")} == {
        f"heads.out.{name}.{part}" for name in ("rank", "plies_left") for part in ("weight", "bias")
    }
    load_agent(tmp_path / "straight")
    with pytest.raises(ConfigError, match=r"`heads\.rank` was 0\.3"):
        resume(tmp_path / "straight", "heads.rank=0")
    run.wheel.close()
