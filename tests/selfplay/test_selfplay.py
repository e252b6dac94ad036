"""Self-play: legal games in the order of their numbers, the same ones for one seed, stopped or not."""

import dataclasses
import time
from typing import Any

import numpy as np
import pytest
from tests.agents.counting import FakeNetwork, Floats

from zelkova import games
from zelkova.agents.agent import Agent
from zelkova.agents.rules_model import RulesModel
from zelkova.errors import CheckpointError, ConfigError, GameError
from zelkova.games import Game
from zelkova.games.game import Position
from zelkova.replay.choices.rows import Choices, pad_rows
from zelkova.replay.episode import Episode
from zelkova.search.config import SearchConfig
from zelkova.search.model import SearchResult
from zelkova.selfplay.config import SelfPlayConfig
from zelkova.selfplay.group import Group
from zelkova.selfplay.searchers import Searchers, make_searchers
from zelkova.selfplay.selfplay import SelfPlay, union_seconds
from zelkova.selfplay.summary import describe_games, seat_wins, write_games

SEARCH = SearchConfig(num_simulations=4)
LAYOUT = SelfPlayConfig(games=8, groups=2, moves_per_round=7, exploration_moves=3, cache_positions=64)


class Slow(FakeNetwork):
    """A network whose answers take a while, another one each time."""

    def __init__(self, game: Game, seconds: float) -> None:
        super().__init__(game)
        self.seconds = seconds
        self.rng = np.random.default_rng()

    def evaluate(self, planes: Floats) -> tuple[Floats, Floats]:
        if self.seconds:
            time.sleep(self.seconds * self.rng.random())
        return super().evaluate(planes)


def start(
    game: Game, layout: SelfPlayConfig = LAYOUT, seed: int = 0, slow: tuple[float, ...] = ()
) -> SelfPlay:
    seconds = slow or (0.0,) * layout.groups
    return SelfPlay(
        game, make_searchers(game, [Slow(game, s) for s in seconds], SEARCH, layout), layout, seed
    )


def play(selfplay: SelfPlay, rounds: int) -> list[list[Episode]]:
    played = [selfplay.play_round() for _ in range(rounds)]
    selfplay.close()
    return played


def same(one: list[list[Episode]], other: list[list[Episode]]) -> bool:
    flat = [[episode for part in rounds for episode in part] for rounds in (one, other)]
    return [len(part) for part in one] == [len(part) for part in other] and all(
        np.array_equal(getattr(a, field.name), getattr(b, field.name))
        for a, b in zip(*flat, strict=True)
        for field in dataclasses.fields(Episode)
    )


@pytest.fixture(scope="module")
def tic_tac_toe() -> Game:
    return games.load("tic_tac_toe")


@pytest.mark.parametrize("name", ["tic_tac_toe", "connect_four_3p"])
def test_episodes_are_legal_games(name: str) -> None:
    game = games.load(name)
    layout = dataclasses.replace(LAYOUT, moves_per_round=20)
    episodes = [episode for part in play(start(game, layout), 2) for episode in part]
    assert len(episodes) >= 8
    for episode in episodes:
        position = Position(game, episode.states[:1])
        for move, action in enumerate(episode.actions.tolist()):
            assert position.state.tolist() == episode.states[move : move + 1].tolist()
            assert position.to_play == episode.to_play[move]
            legal, policy = episode.choices(move)
            assert legal.tolist() == position.legal_actions().tolist()
            assert policy.sum() == pytest.approx(1.0, abs=1e-5)
            position.play(action)  # refuses what is not legal
            assert position.is_terminal == (move == len(episode) - 1)
        assert position.returns.tolist() == episode.returns.tolist()
        assert episode.recorded.all()
        assert episode.root_values.shape == (len(episode), game.num_players)


def test_one_seed_gives_one_run_whatever_the_timing(tic_tac_toe: Game) -> None:
    quick = play(start(tic_tac_toe), 3)
    for slow in ((0.004, 0.0), (0.0, 0.004)):
        assert same(quick, play(start(tic_tac_toe, slow=slow), 3))
    assert not same(quick, play(start(tic_tac_toe, seed=1), 3))


def test_games_come_in_the_order_of_their_numbers_and_each_comes_once(tic_tac_toe: Game) -> None:
    played = play(start(tic_tac_toe), 6)
    numbers = [[episode.seed for episode in part] for part in played]
    assert all(part == sorted(part) for part in numbers)
    flat = sorted(number for part in numbers for number in part)
    assert len(set(flat)) == len(flat)
    assert flat[:8] == list(range(8))  # the games that all began at once have ended


@pytest.mark.parametrize("rounds", [0, 1, 3])
def test_a_saved_state_goes_on_bit_for_bit(tic_tac_toe: Game, rounds: int) -> None:
    layout = dataclasses.replace(LAYOUT, random_opening=0.5, random_opening_moves=3)
    first = start(tic_tac_toe, layout)
    for _ in range(rounds):
        first.play_round()
    arrays, texts = first.state()
    kept = {name: array.copy() for name, array in arrays.items()}
    first.forget()
    expected = play(first, 3)
    other = start(tic_tac_toe, layout)
    for _ in range(2):
        other.play_round()
    other.forget()
    other.set_state(kept, texts)
    assert same(expected, play(other, 3))


def test_a_state_that_an_older_version_padded_goes_on_bit_for_bit(tic_tac_toe: Game) -> None:
    first = start(tic_tac_toe)
    first.play_round()
    now, texts = first.state()
    arrays = {name: array.copy() for name, array in now.items()}
    first.forget()
    expected = play(first, 3)
    for group in ("group0/", "group1/"):
        count = arrays.pop(f"{group}past_counts")
        ragged = Choices(count.ravel(), arrays[f"{group}past_legal"], arrays[f"{group}past_policy"])
        for name, rows in zip(("legal", "policy"), pad_rows(ragged, 9), strict=True):
            arrays[f"{group}past_{name}"] = rows.reshape(*count.shape, 9)
    other = start(tic_tac_toe)
    other.set_state(arrays, texts)
    assert same(expected, play(other, 3))


@pytest.mark.parametrize("moves", [1, 4])
def test_a_saved_state_goes_on_with_shorter_or_longer_openings(tic_tac_toe: Game, moves: int) -> None:
    layout = dataclasses.replace(LAYOUT, random_opening=1.0, random_opening_moves=2)
    first = start(tic_tac_toe, layout)
    first.play_round()
    arrays, texts = first.state()
    first.close()
    other = start(tic_tac_toe, dataclasses.replace(layout, random_opening_moves=moves))
    other.set_state({name: array.copy() for name, array in arrays.items()}, texts)
    begun = max(int(arrays[f"group{group}/seeds"].max()) for group in range(2))
    later = [episode for part in play(other, 6) for episode in part if episode.seed > begun]
    assert max(int((~episode.recorded).sum()) for episode in later) == moves


def test_another_layout_is_refused(tic_tac_toe: Game) -> None:
    selfplay = start(tic_tac_toe)
    selfplay.play_round()
    arrays, texts = selfplay.state()
    for games_in_play, groups, words in ((4, 2, "this group has"), (8, 4, "of 2 groups, this run has 4")):
        other = start(tic_tac_toe, dataclasses.replace(LAYOUT, games=games_in_play, groups=groups))
        with pytest.raises(CheckpointError, match=words):
            other.set_state(arrays, texts)
        other.close()
    selfplay.close()


def result(rows: int, visits: list[int], action: int) -> SearchResult:
    count = len(visits)
    wide = np.zeros((rows, count + 2), np.float32)
    actions = np.full((rows, count + 2), -1, np.int32)
    actions[:, :count] = 10 + np.arange(count)
    visit_counts = np.full((rows, count + 2), 9, np.int32)  # beyond count: noise that must not be read
    visit_counts[:, :count] = visits
    values = np.zeros((rows, 2), np.float32)
    return SearchResult(
        np.full(rows, action, np.int32), actions, np.full(rows, count, np.int32), wide, visit_counts, wide,
        values, values, values,
    )  # fmt: skip


def choose(tic_tac_toe: Game, temperature: float, age: int) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Give how often each of three actions with 6, 0 and 2 visits is chosen."""
    rows = 4000
    config = dataclasses.replace(LAYOUT, games=2, groups=1, exploration_moves=3, temperature=temperature)
    agent = Agent(tic_tac_toe, FakeNetwork(tic_tac_toe), SEARCH, batch=2)
    group = Group(tic_tac_toe, Searchers(agent), config, np.random.SeedSequence(4), 0)
    chosen = group._choose(result(rows, [6, 0, 2], 12), np.full(rows, age))
    return np.bincount(chosen - 10, minlength=3) / rows


def test_first_moves_are_drawn_by_visits_and_later_ones_are_the_searchs_choice(tic_tac_toe: Game) -> None:
    np.testing.assert_allclose(choose(tic_tac_toe, 1.0, 0), [0.75, 0, 0.25], atol=0.03)
    np.testing.assert_allclose(choose(tic_tac_toe, 1.0, 2), [0.75, 0, 0.25], atol=0.03)
    np.testing.assert_allclose(choose(tic_tac_toe, 0.5, 0), [0.9, 0, 0.1], atol=0.03)
    assert choose(tic_tac_toe, 1e-3, 0).tolist() == [1, 0, 0]
    assert choose(tic_tac_toe, 1.0, 3).tolist() == [0, 0, 1]


def test_random_openings_are_played_and_not_trained_on(tic_tac_toe: Game) -> None:
    layout = dataclasses.replace(LAYOUT, random_opening=1.0, random_opening_moves=3)
    episodes = [episode for part in play(start(tic_tac_toe, layout), 5) for episode in part]
    lengths = {int((~episode.recorded).sum()) for episode in episodes}
    assert lengths == {1, 2, 3}
    for episode in episodes:
        assert episode.recorded.tolist() == sorted(episode.recorded.tolist())  # they stand at the start
    none = [episode for part in play(start(tic_tac_toe), 3) for episode in part]
    assert all(episode.recorded.all() for episode in none)
    with pytest.raises(ConfigError, match="`random_opening_moves` is 0"):
        dataclasses.replace(layout, random_opening_moves=0)


def test_the_past_is_let_go(tic_tac_toe: Game) -> None:
    """public-learning-3: what a group keeps is bounded by the longest game, however long it plays."""
    selfplay = start(tic_tac_toe)
    for _ in range(8):
        selfplay.play_round()
        for group in selfplay.groups:
            assert len(group.past) <= 9
            assert group.searchers.full.model.busy is not None
            assert len(group.searchers.full.model.busy) <= LAYOUT.moves_per_round * (
                SEARCH.num_simulations + 1
            )
    selfplay.close()


def test_a_game_that_never_ends_is_named(tic_tac_toe: Game) -> None:
    selfplay = start(tic_tac_toe, dataclasses.replace(LAYOUT, longest_game=3, moves_per_round=4))
    with pytest.raises(GameError, match=r"tic_tac_toe: a game has not ended after 4 moves; .*longest_game"):
        selfplay.play_round()
    selfplay.close()


def test_when_one_group_fails_the_others_leave_at_their_next_move(tic_tac_toe: Game) -> None:
    selfplay = start(tic_tac_toe, dataclasses.replace(LAYOUT, moves_per_round=10_000), slow=(0.0, 0.01))
    model = selfplay.groups[0].searchers.full.model
    assert isinstance(model, RulesModel)
    engine = model.engine
    assert isinstance(engine, FakeNetwork)
    engine.fails = True
    with pytest.raises(RuntimeError, match="out of memory"):
        selfplay.play_round()
    began = time.monotonic()
    selfplay.close()
    assert time.monotonic() - began < 5.0


def test_busy_time_is_the_union_of_calls(tic_tac_toe: Game) -> None:
    assert union_seconds([]) == 0.0
    assert union_seconds([(4.0, 5.0), (0.0, 2.0), (1.0, 3.0), (1.5, 1.6)]) == 4.0
    selfplay = start(tic_tac_toe, slow=(0.003, 0.003))
    play(selfplay, 1)
    assert 0.0 < selfplay.busy_seconds <= selfplay.seconds
    asked, evaluated = selfplay.counts()
    assert asked > evaluated > 0


def test_runs_of_other_seeds_begin_games_of_a_number_elsewhere(tic_tac_toe: Game) -> None:
    """A game that draws its start from the seed must not give every run the same ones."""
    seen = []
    original = Game.initial_states

    class Watched(Game):
        def initial_states(self, seeds: Any) -> Any:
            seen.extend(seeds.tolist())
            return original(self, seeds)

    fields = {name: getattr(tic_tac_toe, name) for name in Game.__dataclass_fields__}
    for seed in (0, 1):
        start(Watched(**fields), seed=seed).close()
    assert len(seen) == 2 * LAYOUT.games
    assert len(set(seen)) == len(seen)


def test_games_are_described_and_written(tic_tac_toe: Game) -> None:
    episodes = [episode for part in play(start(tic_tac_toe), 4) for episode in part]
    figures = describe_games(episodes)
    wins = np.array([episode.returns for episode in episodes])
    assert figures["selfplay/win_share_seat0"] == pytest.approx((wins[:, 0] == 1).mean())
    assert figures["selfplay/win_share_seat1"] == pytest.approx((wins[:, 1] == 1).mean())
    assert figures["selfplay/draw_share"] == pytest.approx((wins[:, 0] == 0).mean())
    assert figures["selfplay/game_length"] == np.mean([len(episode) for episode in episodes])
    assert seat_wins(episodes).tolist() == [(wins[:, 0] == 1).sum(), (wins[:, 1] == 1).sum()]
    assert describe_games([]) == {}
    lines = write_games(tic_tac_toe, episodes[:2]).splitlines()
    for line, episode in zip(lines, episodes, strict=False):
        head, _, moves = line.partition(": ")
        assert head == f"game {episode.seed}"
        position = Position(tic_tac_toe, episode.states[:1])
        for move in moves.partition(" ; ")[0].split():
            position.play(move)
        assert position.is_terminal
    assert len(lines) == 2
