"""Writes pictures as a small animated GIF."""

import io
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

WIDTH = 240  # pixels at most
COLOURS = 64
MOST_BYTES = 3_000_000


def write_gif(frames: Sequence[NDArray[np.uint8]], milliseconds: int = 50) -> bytes:
    """Give an animation; where it would be too large, every second picture goes, as often as is needed.

    Args:
        frames: [H, W, 3] each, one or more, of one size; wider than 240 pixels they are made smaller.
        milliseconds: that each is shown, 20 or more.
    """
    from PIL import Image

    height, width = frames[0].shape[:2]
    small = min(width, WIDTH)
    size = small, max(1, round(height * small / width))
    images = [Image.fromarray(frame).resize(size, Image.Resampling.BOX) for frame in frames]
    images = [image.quantize(COLOURS) for image in images]
    while True:
        file = io.BytesIO()
        images[0].save(
            file, "GIF", save_all=True, append_images=images[1:], duration=milliseconds, loop=0, optimize=True
        )
        if len(file.getvalue()) <= MOST_BYTES or len(images) == 1:
            return file.getvalue()
        images, milliseconds = images[::2], 2 * milliseconds
