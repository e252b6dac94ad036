"""What a round's figures warn of, as figures of their own: 1 where it is so, else 0."""

import math
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

COLLAPSED = 0.05  # share of log A below which a policy's entropy is that of one that has decided
WELL_ABOVE = 0.1  # share of log A by which the search's entropy is then the larger one
ENDLESS = 10_000  # decisions among which some episode should have ended
BY_HEART = 0.1  # accuracy in learnt games less that in new ones, above which they are learnt by heart
ROUNDS, GAMES = 5, 200  # least number of rounds, and of new games in them, that this is the mean of
KINDS = ("accuracy", "early_accuracy")


class MemorisingAlarm:
    """`alarm/memorising`: who wins is foreseen far better in learnt games than in new ones, over rounds.

    The gap is that of `learn/seen_accuracy` and `learn/unseen_accuracy`, or of their early thirds, which are
    judged by the same weights over positions drawn alike. One round's new games are few and the positions of
    a game agree, so the mean goes over the newest rounds, weighted by their games: with 200 games one
    standard error of it is below 4 points.
    """

    def __init__(self) -> None:
        """Remember nothing yet."""
        self._gaps = np.zeros((0, 1 + len(KINDS)))  # a row a round: new games, gap of each kind or NaN

    def look(self, figures: Mapping[str, float], games: int) -> dict[str, float]:
        """Take a round's figures in and give the alarm, 0 until there were enough rounds and games.

        Args:
            figures: `learn/seen_...` and `learn/unseen_...` of the round; one without a pair adds nothing.
            games: new games that the round judged.
        """
        gaps = [
            figures.get(f"learn/seen_{kind}", math.nan) - figures.get(f"learn/unseen_{kind}", math.nan)
            for kind in KINDS
        ]
        if not math.isnan(gaps[0]):
            self._gaps = np.concatenate([self._gaps, [[games, *gaps]]])
        enough = np.flatnonzero(np.cumsum(self._gaps[::-1, 0]) >= GAMES)
        count = max(ROUNDS, int(enough[0]) + 1) if len(enough) else len(self._gaps) + 1
        if len(self._gaps) < count:
            return {"alarm/memorising": 0.0}
        self._gaps = self._gaps[-count:]
        return {"alarm/memorising": float(any(gap > BY_HEART for gap in self._means()))}

    def _means(self) -> list[float]:
        """Give the mean gap of each kind over the rounds that are kept, NaN where none has it."""
        means = []
        for column in self._gaps[:, 1:].T:
            told = ~np.isnan(column)
            means.append(
                float(np.average(column[told], weights=self._gaps[told, 0])) if told.any() else math.nan
            )
        return means

    def forget(self) -> None:
        """Begin anew, where learnt games and new ones are of different kinds."""
        self._gaps = self._gaps[:0]

    def state(self) -> NDArray[np.float64]:
        """Give the rounds that are kept."""
        return self._gaps.copy()

    def set_state(self, state: NDArray[np.float64] | None) -> None:
        """Go on from what `state` gave; None: a checkpoint of a version without this alarm.

        Raises:
            ValueError: it is none.
        """
        if state is not None and (state.ndim != 2 or state.shape[1] != self._gaps.shape[1]):
            raise ValueError(f"memorising has shape {state.shape}; allowed: [n, {self._gaps.shape[1]}]")
        self._gaps = self._gaps[:0] if state is None else state.astype(np.float64)


def find_alarms(learned: Mapping[str, float], num_actions: int, waiting: int = 0) -> dict[str, float]:
    """Look at a round's learning, and at whether there is something to learn from.

    * `alarm/outside_support`: a target lay outside the support of its head.
    * `alarm/policy_collapse`: the network's policy has all but decided where the search's has not: its
      entropy is below 5 % of log A, and the search's above it by 10 % of log A or more.
    * `alarm/no_episode`: not one episode has ended, or was handed on as a segment, in 10,000 decisions;
      told only while it is so.

    Args:
        learned: figures `learn/...` of the round; none where no step was taken.
        num_actions: A; 0 or 1: there is no such entropy to look at.
        waiting: decisions so far in a run that has not kept an episode yet; 0 where it has.
    """
    alarms = {"alarm/no_episode": 1.0} if waiting >= ENDLESS else {}
    if "learn/outside_support" in learned:
        alarms["alarm/outside_support"] = float(learned["learn/outside_support"] > 0.0)
    if num_actions > 1 and "learn/policy_target_entropy" in learned:
        most = math.log(num_actions)
        entropy, search = learned["learn/policy_entropy"], learned["learn/policy_target_entropy"]
        is_collapsed = entropy < COLLAPSED * most and search >= entropy + WELL_ABOVE * most
        alarms["alarm/policy_collapse"] = float(is_collapsed)
    return alarms
