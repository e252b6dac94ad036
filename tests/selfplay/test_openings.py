"""Games that go on from lopsided positions, fast searches, and older networks in some of the seats."""

import dataclasses

import numpy as np
import pytest
from tests.agents.counting import FakeNetwork, Floats, positions, stack

from zelkova import games
from zelkova.agents.agent import Agent
from zelkova.agents.rules_model import Evaluator
from zelkova.errors import ConfigError
from zelkova.games import Game
from zelkova.games.game import Position
from zelkova.replay.episode import Episode
from zelkova.search.config import SearchConfig
from zelkova.selfplay.config import SelfPlayConfig
from zelkova.selfplay.searchers import Searchers, make_searchers
from zelkova.selfplay.selfplay import SelfPlay

SEARCH = SearchConfig(num_simulations=4)
LAYOUT = SelfPlayConfig(games=8, groups=2, moves_per_round=20, exploration_moves=50, cache_positions=64)


class Sure(FakeNetwork):
    """A network that holds the first seat to have won."""

    def evaluate(self, planes: Floats) -> tuple[Floats, Floats]:
        logits, outcome = super().evaluate(planes)
        outcome[:] = -9.0
        outcome[:, 0] = 9.0
        return logits, outcome


def start(game: Game, layout: SelfPlayConfig, past: list[Evaluator] | None = None) -> SelfPlay:
    engines: list[Evaluator] = [FakeNetwork(game) for _ in range(layout.groups)]
    selfplay = SelfPlay(game, make_searchers(game, engines, SEARCH, layout), layout, 0)
    selfplay.invite(past)
    return selfplay


def play(selfplay: SelfPlay, rounds: int) -> list[Episode]:
    episodes = [episode for _ in range(rounds) for episode in selfplay.play_round()]
    selfplay.close()
    return episodes


def assert_legal(game: Game, episode: Episode) -> None:
    """See that an episode is one whole game, its opening included."""
    position = Position(game, episode.states[:1])
    assert position.state.tolist() == game.position().state.tolist()
    for move, action in enumerate(episode.actions.tolist()):
        assert position.state.tolist() == episode.states[move : move + 1].tolist()
        position.play(action)
    assert position.returns.tolist() == episode.returns.tolist()


def assert_same(one: list[Episode], other: list[Episode]) -> None:
    assert len(one) == len(other) > 0
    for left, right in zip(one, other, strict=True):
        for field in dataclasses.fields(Episode):
            np.testing.assert_array_equal(getattr(left, field.name), getattr(right, field.name))


@pytest.fixture(scope="module")
def trio() -> Game:
    return games.load("connect_four_3p")


def test_games_go_on_from_lopsided_positions(trio: Game) -> None:
    layout = dataclasses.replace(LAYOUT, restart_share=0.7, restart_lead=0.3)
    selfplay = start(trio, layout)
    episodes = play(selfplay, 4)
    again = [episode for episode in episodes if not episode.recorded[0]]
    assert 0.3 * len(episodes) < len(again) < 0.9 * len(episodes)
    for episode in episodes:
        assert_legal(trio, episode)
        first = int(np.argmax(episode.recorded))
        assert episode.recorded[first:].all()
        assert len(episode) > first
    kept = [opening for group in selfplay.groups for opening in group.openings.kept]
    assert kept
    assert all(len(opening.states) == len(opening.actions) >= 1 for opening in kept)


def test_no_game_restarts_where_none_was_lopsided(trio: Game) -> None:
    episodes = play(start(trio, dataclasses.replace(LAYOUT, restart_share=1.0, restart_lead=1.0)), 3)
    assert all(episode.recorded.all() for episode in episodes)


def test_fast_moves_are_played_and_not_trained_on(trio: Game) -> None:
    layout = dataclasses.replace(LAYOUT, fast_simulations=2, full_share=0.25)
    episodes = play(start(trio, layout), 6)
    recorded = np.concatenate([episode.recorded for episode in episodes])
    assert 0.15 < recorded.mean() < 0.35
    for episode in episodes:
        assert_legal(trio, episode)
        assert all(episode.choices(int(move))[1].sum() > 0.99 for move in np.flatnonzero(~episode.recorded))


def test_an_older_networks_moves_are_not_trained_on(trio: Game) -> None:
    layout = dataclasses.replace(LAYOUT, past_share=1.0)
    past: list[Evaluator] = [Sure(trio) for _ in range(2)]
    selfplay = start(trio, layout, past)
    assert not selfplay.groups[0].past_seats.any()  # these games began before it was invited
    episodes = play(selfplay, 4)[LAYOUT.games :]
    guests = set()
    for episode in episodes:
        assert_legal(trio, episode)
        seats = {int(seat) for seat in episode.to_play[~episode.recorded]}
        own = {int(seat) for seat in episode.to_play[episode.recorded]}
        assert not seats & own
        assert own
        assert 1 <= len(seats) <= 2
        guests |= seats
        values = episode.root_values[~episode.recorded]
        assert values.max() > 0.9  # the older network's opinion, which the newest does not share
    assert guests == {0, 1, 2}
    assert all(engine.rows > 0 for engine in past if isinstance(engine, Sure))


def test_an_answer_does_not_depend_on_the_older_network_beside_it(trio: Game) -> None:
    states, past = stack(positions(trio, 6)), np.array([True, False, False, True, False, True])
    agents = [Agent(trio, engine, SEARCH, batch=6, cache=256) for engine in (FakeNetwork(trio), Sure(trio))]
    alone = [agent.search_batch(states, None).value for agent in agents]
    mixed = Searchers(Agent(trio, FakeNetwork(trio), SEARCH, batch=6, cache=256))
    mixed.invite(Sure(trio))
    for _ in range(2):  # the second time out of the cache
        found, is_full = mixed.search(states, past, np.random.default_rng(0))
    plain, _ = mixed.search(states, np.zeros(6, np.bool_), np.random.default_rng(0))
    assert is_full
    quiet = Searchers(mixed.full, mixed.full, 0.0)
    found, is_full = quiet.search(states, past, np.random.default_rng(0))
    assert not is_full
    np.testing.assert_array_equal(found.value, np.where(past[:, None], alone[1], alone[0]))
    assert not np.array_equal(plain.value, found.value)


@pytest.mark.parametrize("changes", [
    {"restart_share": 0.5, "restart_lead": 0.3},
    {"fast_simulations": 2},
    {"past_share": 0.6},
])  # fmt: skip
def test_a_saved_state_goes_on_bit_for_bit(trio: Game, changes: dict[str, float]) -> None:
    layout = dataclasses.replace(LAYOUT, **changes)  # type: ignore[arg-type]
    past: list[Evaluator] | None = [Sure(trio), Sure(trio)] if "past_share" in changes else None
    first = start(trio, layout, past)
    first.play_round()
    arrays, texts = first.state()
    kept = {name: array.copy() for name, array in arrays.items()}
    first.forget()
    expected = play(first, 3)
    other = start(trio, layout, past)
    other.play_round()
    other.play_round()
    other.forget()
    other.set_state(kept, texts)
    assert_same(expected, play(other, 3))


@pytest.mark.parametrize("changes", [
    {"restart_share": 1.5}, {"restart_lead": -0.1}, {"past_share": 2.0}, {"past_rounds": 0},
    {"fast_simulations": -1}, {"full_share": 1.1}, {"fast_simulations": 8, "full_share": 0.0},
])  # fmt: skip
def test_settings_out_of_range_are_named(changes: dict[str, float]) -> None:
    with pytest.raises(ConfigError, match=next(reversed(changes))):
        dataclasses.replace(LAYOUT, **changes)  # type: ignore[arg-type]


def test_one_player_has_nobody_to_play_against() -> None:
    game = games.load("2048")
    with pytest.raises(ConfigError, match=r"past_share.*one player"):
        start(game, dataclasses.replace(LAYOUT, past_share=0.5))
