"""Reanalyse: fresh policies and values for old decisions, from a network that has learnt since.

Targets are refreshed as a batch is made and written nowhere, so a resumed run makes the same ones again.

Source: MuZero (Schrittwieser et al. 2020), Appendix H; EfficientZero (Ye et al. 2021), Section 4.3.
"""

import numpy as np
from numpy.typing import NDArray

from zelkova.agents.learned.agent import LearnedAgent, Plan
from zelkova.replay.config import UnrollConfig
from zelkova.replay.trajectories import Picks, TrajectoryBuffer
from zelkova.replay.unroll import Fresh, bootstrap_rows, find_steps
from zelkova.selfplay.reanalyse_config import ReanalyseConfig


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

    def refresh(self, buffer: TrajectoryBuffer, picks: Picks, rng: np.random.Generator) -> Fresh:
        """Make new targets for a batch, as far as the config asks for them.

        Args:
            buffer: nothing may have been added since the picks were drawn.
            picks: B decisions.
            rng: draws which unrolls are searched anew, and the noise of those searches.
        """
        fresh = Fresh()
        if self.config.values == "target":
            fresh = fresh._replace(values=self._values(buffer, picks))
        if self.config.policy_share > 0.0:
            chosen = rng.random(len(picks.rows)) < self.config.policy_share
            if chosen.any():
                fresh = self._policies(buffer, picks, chosen, rng, fresh)
        return fresh

    def _values(self, buffer: TrajectoryBuffer, picks: Picks) -> NDArray[np.float32]:
        """Give the target network's own values of what the targets begin with, [B, K + 1, P]."""
        where = bootstrap_rows(buffer, picks, self.unroll)
        rows, inverse = np.unique(np.maximum(where, 0), return_inverse=True)
        values = self.agent.values(buffer.take("observations", rows), buffer.take("to_play", rows))
        return values[inverse].reshape(*where.shape, -1)

    def _policies(
        self,
        buffer: TrajectoryBuffer,
        picks: Picks,
        chosen: NDArray[np.bool_],
        rng: np.random.Generator,
        fresh: Fresh,
    ) -> Fresh:
        """Search from every decision of the chosen unrolls; each decision once."""
        steps = find_steps(buffer, picks, self.unroll.unroll_steps)
        wanted = (steps.ahead > 0) & chosen[:, None]
        rows, inverse = np.unique(steps.rows[wanted], return_inverse=True)
        plan: Plan = self.agent.search(
            buffer.take("observations", rows),
            buffer.take("to_play", rows),
            buffer.take("legal", rows),
            seed=rng,
        )
        width = plan.action_weights.shape[1]
        policy = np.zeros((*wanted.shape, width), np.float32)
        policy[wanted] = plan.action_weights[inverse]
        candidates = None
        if plan.sampled_actions is not None:
            candidates = np.zeros((*wanted.shape, *plan.sampled_actions.shape[1:]), np.float32)
            candidates[wanted] = plan.sampled_actions[inverse]
        if self.config.values == "search":
            where = bootstrap_rows(buffer, picks, self.unroll)
            values = buffer.take("values", np.maximum(where, 0).ravel()).reshape(*where.shape, -1)
            place = np.searchsorted(rows, where)
            known = np.isin(where, rows)
            values[known] = plan.value[place[known]]
            fresh = fresh._replace(values=values)
        return fresh._replace(policy=policy, candidates=candidates, is_fresh=wanted)
