"""Images as networks take them, and the small changes that learning makes to them.

Nothing is drawn here: how far each image is shifted comes with the batch.
"""

import torch
from torch import Tensor


def as_floats(observation: Tensor) -> Tensor:
    """Give observations as floating-point numbers; whole numbers are bytes of images and come to 0..1."""
    return observation if observation.is_floating_point() else observation.float() / 255.0


def augment(images: Tensor, change: Tensor) -> Tensor:
    """Shift each image, its edge pixels repeated where nothing comes in, and make it brighter or darker.

    Args:
        images: [R, C, H, W] bytes, or floating-point numbers; the planes of a row move together.
        change: float32[R, 3] pixels down, pixels to the right, and the factor of the brightness.
    Returns:
        [R, C, H, W] floating-point numbers, channels last in memory.
    Source: SPR (Schwarzer et al. 2021), Appendix; Image Augmentation Is All You Need (Kostrikov et al. 2021).
    """
    count, _, height, width = images.shape
    down, right = change[:, :2].long().T

    def places(length: int, shift: Tensor) -> Tensor:
        line = torch.arange(length, device=images.device)
        return (line - shift[:, None]).clamp(0, length - 1)

    row = torch.arange(count, device=images.device)[:, None, None]
    moved = images[row, :, places(height, down)[:, :, None], places(width, right)[:, None, :]]
    return as_floats(moved.permute(0, 3, 1, 2)) * change[:, 2, None, None, None]
