"""Rates a run's checkpoints as it goes: a small gauntlet against the reference opponents.

The opponents' own ladder (each against its neighbour, the first at Elo 0) is played once a run; a
checkpoint's rating is then the likeliest one given its scores and the ladder. Everything follows from the
seed, so that a resumed run finds the same ladder and the same openings again.
"""

from collections.abc import Sequence

import numpy as np

from zelkova.evaluation.config import MatchConfig, RatingConfig
from zelkova.evaluation.elo import Pairing, fit_elo
from zelkova.evaluation.match import MatchResult, play_match
from zelkova.evaluation.players import Player, make_player
from zelkova.games.game import Game


def metric_name(opponent: str) -> str:
    """Give the metric of the score against an opponent: `eval/score_uct_1000`."""
    return f"eval/score_{opponent.replace(':', '_')}"


def pair_up(result: MatchResult) -> Pairing:
    """Keep of a match what a ladder needs."""
    total = float(result.scores.sum())
    return Pairing(result.names[0], result.names[1], total, result.num_games, result.num_players)


class Gauntlet:
    """The reference opponents of one run, and where they stand."""

    def __init__(self, game: Game, config: RatingConfig, seed: int, *, threads: int = 1) -> None:
        """Make the opponents; no game is played yet.

        Args:
            game: of the run.
            config: opponents and numbers of games.
            seed: of all openings and opponents.
            threads: that uct splits a batch over.
        Raises:
            ConfigError: an opponent is unknown.
        """
        self.game = game
        self.config = config
        self._seeds = [int(word) for word in np.random.SeedSequence(seed).generate_state(2)]
        self.opponents: Sequence[Player] = [
            make_player(name, game, threads=threads) for name in config.opponents
        ]
        self._ladder: dict[str, float] = {}

    @property
    def ladder(self) -> dict[str, float]:
        """The opponents' Elo by name; played on first use."""
        if not self._ladder:
            names = [player.name for player in self.opponents]
            config = MatchConfig(
                self.config.ladder_games, self._seeds[0], self.config.opening_plies, self.config.ladder_games
            )
            pairings = [
                pair_up(play_match(self.game, stronger, weaker, config))
                for weaker, stronger in zip(self.opponents, self.opponents[1:], strict=False)
            ]
            if pairings:
                ratings = fit_elo(pairings, {names[0]: 0.0})
                self._ladder = {name: ratings[name].elo for name in names}
            else:
                self._ladder = {names[0]: 0.0}
        return self._ladder

    def rate(self, player: Player) -> dict[str, float]:
        """Play a checkpoint against every opponent.

        Args:
            player: the checkpoint; its name must differ from the opponents'.
        Returns: mean scores `eval/score_OPPONENT` in 0..1, and `eval/elo` with the ends of its 95 % interval,
            `eval/elo_low` and `eval/elo_high`; for one player also the mean return, `eval/return`.
        """
        metrics: dict[str, float] = {}
        pairings = []
        for opponent in self.opponents:
            config = MatchConfig(
                self.config.games, self._seeds[1], self.config.opening_plies, self.config.games + 8
            )
            result = play_match(self.game, player, opponent, config)
            metrics[metric_name(opponent.name)] = result.score
            if result.is_apart:
                metrics["eval/return"] = float(result.returns[:, 0].mean())
            pairings.append(pair_up(result))
        rating = fit_elo(pairings, self.ladder)[player.name]
        return {**metrics, "eval/elo": rating.elo, "eval/elo_low": rating.low, "eval/elo_high": rating.high}
