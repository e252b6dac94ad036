"""Pictures of an episode that was played, by acting it again where pictures are made."""

import numpy as np
from numpy.typing import NDArray

from zelkova.envs.batch import GymBatch
from zelkova.errors import EnvError
from zelkova.evaluation.diagnosis.records import Record

WIDEST = 480  # pixels of a picture that is kept; wider ones lose rows and columns


def draw_frames(envs: GymBatch, record: Record, most: int) -> list[NDArray[np.uint8]]:
    """Act an episode's decisions again and draw each observation.

    Args:
        envs: one environment, made with `render_mode = "rgb_array"`.
        record: of the same environment.
        most: pictures, 1 or more.
    Raises:
        EnvError: it can't be drawn, or does something else from the same seed.
    """
    seen = envs.reset([record.seed]).observations[0]
    frames: list[NDArray[np.uint8]] = []
    for step in range(min(most, len(record) + 1)):
        if step:
            seen = envs.step(record.actions[step - 1 : step]).observations[0]
        if not np.array_equal(seen, record.observations[step]):
            raise EnvError(
                f"{envs.spec.name}, step {step}: it does something else from the same seed and actions, so"
                " the episode can't be drawn"
            )
        picture = envs.draw(0)
        stride = -(-picture.shape[1] // WIDEST)
        frames.append(picture[::stride, ::stride].copy())
    return frames
