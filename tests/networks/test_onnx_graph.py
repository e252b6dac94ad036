"""The exported graph answers as the module does, judged by an independent runtime."""

from collections.abc import Callable

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from zelkova.errors import ShapeError
from zelkova.networks.config import NetworkConfig
from zelkova.networks.onnx_graph import OUTPUTS, fold_batch_norms, write_onnx


@pytest.mark.parametrize(("kind", "pooling"), [("residual", 0), ("residual", 2), ("mlp", 0)])
@pytest.mark.parametrize("batch", [None, 13])
def test_onnx_answers_as_the_module(
    trained: Callable[..., nn.Module], planes: NDArray[np.float32], kind: str, pooling: int, batch: int | None
) -> None:
    onnxruntime = pytest.importorskip("onnxruntime")
    onnx = pytest.importorskip("onnx")
    config = NetworkConfig(kind=kind, channels=8, blocks=2, pooling_every=pooling)  # type: ignore[arg-type]
    module = trained(config, (3, 6, 7), 7, 3)
    data = write_onnx(module, (3, 6, 7), batch)
    onnx.checker.check_model(onnx.load_from_string(data), full_check=True)
    session = onnxruntime.InferenceSession(data, providers=["CPUExecutionProvider"])
    given = session.run(list(OUTPUTS), {"planes": planes})
    with torch.inference_mode():
        wanted = module(torch.from_numpy(planes))
    for one, other in zip(given, wanted, strict=True):
        np.testing.assert_allclose(one, other.numpy(), atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("batch", [None, 13])
def test_onnx_answers_as_a_policy_of_planes_and_a_value_that_counts(
    trained: Callable[..., nn.Module], planes: NDArray[np.float32], batch: int | None
) -> None:
    onnxruntime = pytest.importorskip("onnxruntime")
    config = NetworkConfig(channels=8, blocks=1, policy_head="conv", value_counts=True)
    module = trained(config, (3, 6, 7), 84, 3)
    session = onnxruntime.InferenceSession(
        write_onnx(module, (3, 6, 7), batch), providers=["CPUExecutionProvider"]
    )
    given = session.run(list(OUTPUTS), {"planes": planes})
    with torch.inference_mode():
        wanted = module(torch.from_numpy(planes))
    for one, other in zip(given, wanted, strict=True):
        np.testing.assert_allclose(one, other.numpy(), atol=1e-4, rtol=1e-4)


class Unknown(nn.Module):
    """A network with a step that no writer knows."""

    def forward(self, planes: Tensor) -> tuple[Tensor, Tensor]:
        return torch.erf(planes.flatten(1)), planes.flatten(1)


class Halved(nn.Module):
    """A network that pools to two by two cells."""

    def __init__(self) -> None:
        super().__init__()
        self.pool = nn.AdaptiveAvgPool2d(2)

    def forward(self, planes: Tensor) -> tuple[Tensor, Tensor]:
        return self.pool(planes).flatten(1), planes.flatten(1)


class Floating(nn.Module):
    """A network whose normalisation follows no convolution."""

    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.BatchNorm2d(3)

    def forward(self, planes: Tensor) -> tuple[Tensor, Tensor]:
        return self.norm(planes).flatten(1), planes.flatten(1)


def test_what_cannot_be_written_is_named() -> None:
    with pytest.raises(ShapeError, match="erf.*add it to WRITERS"):
        write_onnx(Unknown(), (3, 6, 7), None)
    with pytest.raises(ShapeError, match="pooling pool to 2 can't be written"):
        write_onnx(Halved(), (3, 6, 7), None)
    with pytest.raises(ShapeError, match="`norm` does not follow a convolution"):
        fold_batch_norms(Floating())
