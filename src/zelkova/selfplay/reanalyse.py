"""Reanalyse: fresh policies and values for old decisions, from a network that has learnt since.

Targets are refreshed as a batch is made and written nowhere, so a resumed run makes the same ones again.

Source: MuZero (Schrittwieser et al. 2020), Appendix H; EfficientZero (Ye et al. 2021), Section 4.3;
EfficientZero V2 (Wang et al. 2024), search-based value estimation and mixed value target.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from zelkova.agents.learned.agent import LearnedAgent, Plan
from zelkova.replay.config import UnrollConfig
from zelkova.replay.trajectories import Picks, TrajectoryBuffer
from zelkova.replay.unroll import Fresh, bootstrap_rows, find_steps
from zelkova.selfplay.config import ReanalyseConfig


class Searched(NamedTuple):
    """Which decisions of a batch are searched anew, and what for; all but picks are [B, K + 1]."""

    picks: Picks
    rows: NDArray[np.int64]
    wanted: NDArray[np.bool_]  # searched
    renewed: NDArray[np.bool_]  # for their policies
    stale: NDArray[np.bool_]  # for their values


class Reanalyser:
    """Asks a target network about old observations."""

    def __init__(self, agent: LearnedAgent, config: ReanalyseConfig, unroll: UnrollConfig) -> None:
        """Take the agent whose network the wheel renews.

        Args:
            agent: searches and evaluates.
            config: how much is refreshed.
            unroll: of the targets.
        """
        self.agent, self.config, self.unroll = agent, config, unroll

    def refresh(
        self, buffer: TrajectoryBuffer, picks: Picks, rng: np.random.Generator, steps_taken: int = 0
    ) -> Fresh:
        """Make new targets for a batch, as far as the config asks for them.

        Args:
            buffer: nothing may have been added since the picks were drawn.
            picks: B decisions.
            rng: draws which unrolls are searched anew, and the noise of those searches.
            steps_taken: optimiser steps so far; mixed values wait for some.
        """
        fresh, config = Fresh(), self.config
        if config.values in ("target", "mixed"):
            fresh = fresh._replace(values=self._values(buffer, picks))
        chosen = np.zeros(len(picks.rows), np.bool_)
        if config.policy_share > 0.0:
            chosen = rng.random(len(picks.rows)) < config.policy_share
        steps = find_steps(buffer, picks, self.unroll.unroll_steps)
        inside = steps.ahead > 0
        stale = np.zeros_like(inside)
        if config.values == "mixed" and steps_taken >= config.mixed_after:
            number = buffer.take("number", steps.rows.ravel()).reshape(inside.shape)
            stale = inside & (number < buffer.total_added - config.mixed_newest)
        wanted = inside & (stale | chosen[:, None])
        if wanted.any():
            found = Searched(picks, steps.rows, wanted, inside & chosen[:, None], stale)
            fresh = self._search(buffer, found, rng, fresh)
        return fresh

    def _values(self, buffer: TrajectoryBuffer, picks: Picks) -> NDArray[np.float32]:
        """Give the target network's own values of what the targets begin with, [B, K + 1, P]."""
        where = bootstrap_rows(buffer, picks, self.unroll)
        rows, inverse = np.unique(np.maximum(where, 0), return_inverse=True)
        values = self.agent.values(buffer.take("observations", rows), buffer.take("to_play", rows))
        return values[inverse].reshape(*where.shape, -1)

    def _search(
        self, buffer: TrajectoryBuffer, found: Searched, rng: np.random.Generator, fresh: Fresh
    ) -> Fresh:
        """Search from every wanted decision, each once, and lay out what is needed of it."""
        rows, inverse = np.unique(found.rows[found.wanted], return_inverse=True)
        plan: Plan = self.agent.search(
            buffer.take("observations", rows),
            buffer.take("to_play", rows),
            buffer.take("legal", rows),
            seed=rng,
        )

        def lay_out(answers: NDArray[np.float32]) -> NDArray[np.float32]:
            out = np.zeros((*found.wanted.shape, *answers.shape[1:]), np.float32)
            out[found.wanted] = answers[inverse]
            return out

        if found.stale.any():  # the mean of the back-ups, the root's own value among them
            fresh = fresh._replace(estimates=lay_out(plan.value), is_estimated=found.stale)
        if not found.renewed.any():
            return fresh
        drawn = plan.sampled_actions
        if self.config.values == "search":
            where = bootstrap_rows(buffer, found.picks, self.unroll)
            values = buffer.take("values", np.maximum(where, 0).ravel()).reshape(*where.shape, -1)
            known = np.isin(where, rows)
            values[known] = plan.value[np.searchsorted(rows, where[known])]
            fresh = fresh._replace(values=values)
        return fresh._replace(
            policy=lay_out(plan.action_weights),
            candidates=None if drawn is None else lay_out(drawn),
            is_fresh=found.renewed,
        )
