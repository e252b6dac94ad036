"""Everything that is measured of a set of games: what is measured of every game, then what this one adds."""

from collections.abc import Sequence

from zelkova.errors import GameError, ZelkovaError, word_failure
from zelkova.evaluation.analysis.leads import judge_by_game, measure_leads
from zelkova.evaluation.analysis.outcomes import count_lengths, count_openings, count_results
from zelkova.games.game import Game
from zelkova.games.played import PlayedGame
from zelkova.games.registry import beside
from zelkova.games.statistic import Statistic

STUDY = "study"  # the module beside a game's rules, and its function (game, games) -> list[Statistic]


def study_games(game: Game, games: Sequence[PlayedGame], source: str) -> list[Statistic]:
    """Measure a set of games.

    Args:
        game: that all of them were played by.
        games: one or more; their chances may be known.
        source: who says those chances, in words.
    Raises:
        GameError: what the game adds can't be measured; a user's game may do anything.
    """
    found = [count_results(game, games), *count_lengths(games), count_openings(game, games)]
    if game.num_players > 1:
        own = judge_by_game(game, games)
        if own is not None:
            found += measure_leads("evaluate", "the game's own evaluate", games, own)
        found += measure_leads("agent", source, games, [played.chances for played in games])
    add = getattr(beside(game, STUDY), STUDY, None)
    if add is not None:
        try:
            found += _check(add(game, games))
        except ZelkovaError:
            raise
        except Exception as error:
            raise GameError(f"{game.source}: {STUDY}() failed: {word_failure(error)}") from error
    return [statistic for statistic in found if statistic.rows]


def _check(added: Sequence[Statistic]) -> Sequence[Statistic]:
    """Refuse what a user's study gave in the place of tables."""
    for statistic in added:
        if not isinstance(statistic, Statistic):
            raise TypeError(f"it gives {type(statistic).__name__} in its list; allowed: Statistic")
        for row in statistic.rows:
            if len(row) != len(statistic.columns):
                raise ValueError(
                    f"a row of `{statistic.key}` has {len(row)} cells; allowed: {len(statistic.columns)},"
                    " one a column"
                )
    return added
