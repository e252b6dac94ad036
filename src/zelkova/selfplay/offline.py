"""The stage of a run that learns from a fixed data set alone: the wheel's `Play`, and nothing is played."""

from typing import Any

from numpy.typing import NDArray

from zelkova.envs.batch import EnvBatch
from zelkova.errors import CheckpointError
from zelkova.replay.trajectory import Trajectory
from zelkova.selfplay.acting import Seen


class Offline:
    """Takes the place of `Actors` where all that is learnt from lies in the replay already.

    Source: MuZero Unplugged (Schrittwieser et al. 2021), Section 4.
    """

    def __init__(self, envs: EnvBatch, seed: int) -> None:
        """Begin an episode in each environment; it stays at its first observation.

        Args:
            envs: one or more, for what they are like.
            seed: of the first of them.
        """
        self.envs = envs
        self.seconds = self.busy_seconds = 0.0
        first = envs.reset([(seed + row) % 2**31 for row in range(envs.size)])
        self._first = Seen(first.observations.copy(), first.to_play.copy(), first.legal.copy())

    def seen(self) -> Seen:
        """Give what the environments show, the same always."""
        return self._first

    def play_round(self) -> list[Trajectory]:
        """Give nothing, at once."""
        return []

    def abandon(self) -> None:
        """Do nothing: there is no move to leave at."""

    def forget(self) -> None:
        """Do nothing: there is no cache."""

    def counts(self) -> tuple[int, int]:
        """Give 0: the network is not asked."""
        return 0, 0

    def state(self) -> tuple[dict[str, NDArray[Any]], list[str]]:
        """Give nothing: a data set has no state."""
        return {}, []

    def set_state(self, arrays: dict[str, NDArray[Any]], texts: list[str]) -> None:
        """Go on from nothing.

        Raises:
            CheckpointError: there are episodes in play: the run is one that acts.
        """
        if arrays or texts:
            raise CheckpointError(
                "the checkpoint holds episodes in play, and replay.offline_steps says that nothing is played;"
                " next: resume with the settings that the run was started with"
            )

    def close(self) -> None:
        """Close the environments."""
        self.envs.close()
