"""Self-play of a game with chance: nature moves between searches, from the group's own generator."""

import numpy as np
from numpy.typing import NDArray

from zelkova import games
from zelkova.agents.agent import Agent
from zelkova.games.single import Single
from zelkova.search.config import SearchConfig
from zelkova.selfplay.config import SelfPlayConfig
from zelkova.selfplay.group import Group
from zelkova.selfplay.openings import Opening, Openings
from zelkova.selfplay.searchers import Searchers
from zelkova.selfplay.summary import write_games


class Even:
    """Prefers nothing."""

    def evaluate(self, planes: NDArray[np.float32]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        return np.zeros((len(planes), 4), np.float32), np.zeros((len(planes), 2), np.float32)


def new_group(seed: int) -> Group:
    game = games.load("2048", {"size": 2})
    agent = Agent(game, Even(), SearchConfig("gumbel", 4), batch=4, cache=64)
    config = SelfPlayConfig(games=4, groups=1, moves_per_round=10, random_opening=0.5, random_opening_moves=4)
    return Group(game, Searchers(agent), config, np.random.SeedSequence(seed), 0)


def test_games_end_and_hold_only_positions_where_a_player_moves() -> None:
    group = new_group(1)
    episodes = group.play(40)
    assert len(episodes) > 4
    for episode in episodes:
        assert (episode.to_play == 0).all()
        assert (episode.counts <= 4).all(), "no outcomes"
        boards = group.game.view_states(np.ascontiguousarray(episode.states))["board"]
        assert ((boards > 0).sum(axis=(1, 2)) >= 2).all()
        assert 0.0 <= episode.returns[0] < 0.05
    firsts = {episode.states[0].tobytes() for episode in episodes}
    assert len(firsts) > 1, "games begin differently"


def test_a_group_that_was_saved_goes_on_with_the_same_dice() -> None:
    group, twin = new_group(2), new_group(3)
    group.play(7)
    twin.set_state(*group.state())
    group.searchers.full.model.forget()
    first, second = group.play(20), twin.play(20)
    assert [episode.seed for episode in first] == [episode.seed for episode in second]
    assert all(np.array_equal(a.states, b.states) for a, b in zip(first, second, strict=True))
    assert np.array_equal(group.states, twin.states)


def test_a_game_as_text_can_be_played_again() -> None:
    group = new_group(4)
    episode = group.play(30)[0]
    text = write_games(group.game, [episode]).partition(": ")[2].partition(" ; ")[0]
    position = group.game.position()
    for move in text.split():
        position.play(move)
    assert position.is_chance, "what came after the last move is not kept"
    assert position.record["score"] == round(float(episode.returns[0]) * 20000)


def test_no_game_begins_where_nature_ends_it_on_the_way_back() -> None:
    group = new_group(5)
    openings = Openings(group.game, SelfPlayConfig(games=4, groups=1, restart_share=1.0))
    first = group.game.initial_states(np.zeros(1, np.uint64))
    rules, ended, again = Single(group.game), 0, 0
    for number, episode in enumerate(group.play(40)):
        openings.kept = [Opening(episode.states, episode.actions)]  # its last move ended the game
        for draw in range(20):
            rng = np.random.default_rng([number, draw])
            state, opening = openings.begin(first, rng)
            assert not rules.is_terminal(state)
            again += len(opening.actions) > 0
            ended += len(opening.actions) == 0
    assert ended > 0 < again
