"""Shifts and brightness of images, by numbers known by hand."""

import pytest
import torch

from zelkova.networks.learned.images import as_floats, augment

IMAGE = torch.arange(9, dtype=torch.uint8).reshape(1, 1, 3, 3)
# 0 1 2
# 3 4 5
# 6 7 8


def change(down: float, right: float, factor: float = 1.0) -> torch.Tensor:
    return torch.tensor([[down, right, factor]])


@pytest.mark.parametrize(
    ("down", "right", "wanted"),
    [
        (0, 0, [[0, 1, 2], [3, 4, 5], [6, 7, 8]]),
        (1, 0, [[0, 1, 2], [0, 1, 2], [3, 4, 5]]),
        (-1, 0, [[3, 4, 5], [6, 7, 8], [6, 7, 8]]),
        (0, 1, [[0, 0, 1], [3, 3, 4], [6, 6, 7]]),
        (-1, -2, [[5, 5, 5], [8, 8, 8], [8, 8, 8]]),
        (4, 4, [[0, 0, 0], [0, 0, 0], [0, 0, 0]]),
    ],
)
def test_a_shift_moves_pixels_exactly_and_repeats_the_edge(
    down: float, right: float, wanted: list[list[float]]
) -> None:
    found = augment(IMAGE.float(), change(down, right))
    assert found[0, 0].tolist() == wanted


def test_no_change_gives_the_very_floats_that_a_network_takes() -> None:
    images = torch.randint(
        0, 256, (4, 3, 5, 7), dtype=torch.uint8, generator=torch.Generator().manual_seed(1)
    )
    assert torch.equal(augment(images, change(0, 0).expand(4, 3)), as_floats(images))
    assert as_floats(images).max() <= 1.0


def test_brightness_is_a_factor() -> None:
    found = augment(torch.full((1, 2, 3, 3), 100, dtype=torch.uint8), change(2, -1, 1.1))
    assert torch.allclose(found, torch.full((1, 2, 3, 3), 1.1 * 100 / 255))


def test_a_row_is_changed_as_if_it_were_alone_and_its_planes_move_together() -> None:
    generator = torch.Generator().manual_seed(3)
    images = torch.randint(0, 256, (5, 4, 6, 6), dtype=torch.uint8, generator=generator)
    changes = torch.tensor([[row - 2, 3 - row, 1.0 + row / 20] for row in range(5)])
    together = augment(images, changes)
    for row in range(5):
        assert torch.equal(together[row], augment(images[row : row + 1], changes[row : row + 1])[0])
        for plane in range(4):
            alone = augment(images[row : row + 1, plane : plane + 1], changes[row : row + 1])
            assert torch.equal(together[row, plane], alone[0, 0])
