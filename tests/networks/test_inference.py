"""Engines answer as the module does, take new weights, and run side by side."""

import importlib.util
import threading
from collections.abc import Callable

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import nn

from zelkova.errors import ConfigError, DeviceError, MissingExtraError, ShapeError
from zelkova.networks.config import NetworkConfig
from zelkova.networks.inference import Precision, batch_sizes, make_engine, resolve_device

Floats = NDArray[np.float32]
Trained = Callable[..., nn.Module]
SMALL = NetworkConfig(channels=16, blocks=2)
POOLING = NetworkConfig(channels=16, blocks=2, pooling_every=2, value_counts=True)
KINDS = ["openvino", "torch"]


def answers(module: nn.Module, planes: Floats) -> tuple[Floats, Floats]:
    """Evaluate with the module itself, in float32."""
    with torch.inference_mode():
        policy, outcome = module(torch.from_numpy(planes))
    return policy.numpy(), outcome.numpy()


def probabilities(logits: Floats) -> Floats:
    """Take the softmax of each row."""
    return torch.softmax(torch.from_numpy(logits), 1).numpy()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("precision", "tolerance"), [("float32", 1e-4), ("bfloat16", 0.02), ("auto", 0.02)])
def test_engine_answers_as_the_module(
    trained: Trained, planes: Floats, kind: str, precision: Precision, tolerance: float
) -> None:
    pytest.importorskip("openvino")
    for network in (SMALL, POOLING, NetworkConfig(kind="mlp", channels=8, blocks=2)):
        module = trained(network, (3, 6, 7), 7, 2)
        expected = answers(module, planes)
        assert np.ptp(probabilities(expected[0]), axis=0).max() > 0.05  # rows differ: a mix-up would show
        engine = make_engine(module, (3, 6, 7), max_batch=16, precision=precision, kind=kind)  # type: ignore[arg-type]
        assert engine.name.startswith(kind)
        for rows in (13, 1, 5):
            policy, outcome = engine.evaluate(planes[:rows])
            for given, wanted in ((policy, expected[0][:rows]), (outcome, expected[1][:rows])):
                assert given.dtype == np.float32
                assert given.flags.c_contiguous
                assert given.shape == wanted.shape
                np.testing.assert_allclose(probabilities(given), probabilities(wanted), atol=tolerance)


@pytest.mark.parametrize(("shape", "actions", "players"), [((5, 3, 9), 40, 3), ((1, 1, 4), 2, 1)])
def test_other_sizes_and_players(
    trained: Trained, shape: tuple[int, int, int], actions: int, players: int
) -> None:
    module = trained(SMALL, shape, actions, players)
    planes = np.random.default_rng(1).random((7, *shape), dtype=np.float32)
    given = make_engine(module, shape, max_batch=8, precision="float32").evaluate(planes)
    for one, wanted in zip(given, answers(module, planes), strict=True):
        np.testing.assert_allclose(one, wanted, atol=1e-3, rtol=1e-3)


@pytest.mark.parametrize("kind", KINDS)
def test_load_takes_over_new_weights(trained: Trained, planes: Floats, kind: str) -> None:
    pytest.importorskip("openvino")
    old, new = (trained(SMALL, (3, 6, 7), 7, 2, seed=seed) for seed in (1, 2))
    engine = make_engine(old, (3, 6, 7), max_batch=16, precision="float32", kind=kind)  # type: ignore[arg-type]
    for rows in (13, 1):
        engine.evaluate(planes[:rows])
    before = {name: tensor.clone() for name, tensor in new.state_dict().items()}
    engine.load(new.train())
    assert new.training
    assert all(torch.equal(tensor, before[name]) for name, tensor in new.state_dict().items())
    wanted = answers(new.eval(), planes)[0]
    assert np.abs(wanted - answers(old, planes)[0]).max() > 0.05
    for rows in (13, 1):
        np.testing.assert_allclose(engine.evaluate(planes[:rows])[0], wanted[:rows], atol=1e-3, rtol=1e-3)


@pytest.mark.parametrize("kind", KINDS)
def test_answers_repeat_and_are_new_arrays(trained: Trained, planes: Floats, kind: str) -> None:
    pytest.importorskip("openvino")
    module = trained(SMALL, (3, 6, 7), 7, 2)
    engine = make_engine(module, (3, 6, 7), max_batch=13, kind=kind)  # type: ignore[arg-type]
    other = make_engine(module, (3, 6, 7), max_batch=13, kind=kind)  # type: ignore[arg-type]
    first = engine.evaluate(planes)
    kept = first[0].copy(), first[1].copy()
    engine.evaluate(1 - planes)
    for again in (first, engine.evaluate(planes), other.evaluate(planes)):
        assert np.array_equal(again[0], kept[0])
        assert np.array_equal(again[1], kept[1])


@pytest.mark.parametrize("network", [SMALL, POOLING])
def test_a_row_does_not_depend_on_its_neighbours(
    trained: Trained, planes: Floats, network: NetworkConfig
) -> None:
    engine = make_engine(trained(network, (3, 6, 7), 7, 2), (3, 6, 7), max_batch=65)
    alone = engine.evaluate(planes[:1])
    for others in (0, 5, 20, 40, 64):
        mixed = np.concatenate([planes[:1], np.resize(1 - planes, (others, 3, 6, 7))])
        for given, wanted in zip(engine.evaluate(mixed), alone, strict=True):
            assert np.array_equal(given[0], wanted[0])


@pytest.mark.parametrize("kind", KINDS)
def test_two_engines_in_two_threads(trained: Trained, planes: Floats, kind: str) -> None:
    pytest.importorskip("openvino")
    modules = [trained(SMALL, (3, 6, 7), 7, 2, seed=seed) for seed in (1, 2)]
    engines = [make_engine(module, (3, 6, 7), max_batch=13, kind=kind) for module in modules]  # type: ignore[arg-type]
    wanted = [engine.evaluate(planes)[0] for engine in engines]
    agree = [0, 0]

    def work(index: int) -> None:
        for _ in range(50):
            agree[index] += bool(np.array_equal(engines[index].evaluate(planes)[0], wanted[index]))

    threads = [threading.Thread(target=work, args=(index,)) for index in (0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert agree == [50, 50]
    assert not np.array_equal(wanted[0], wanted[1])


def test_torch_engine_leaves_the_thread_count(trained: Trained, planes: Floats) -> None:
    before = torch.get_num_threads()
    make_engine(trained(SMALL, (3, 6, 7), 7, 2), (3, 6, 7), max_batch=13, threads=1, kind="torch").evaluate(
        planes
    )
    assert torch.get_num_threads() == before


@pytest.mark.parametrize("kind", KINDS)
def test_wrong_planes_are_refused(trained: Trained, planes: Floats, kind: str) -> None:
    pytest.importorskip("openvino")
    engine = make_engine(trained(SMALL, (3, 6, 7), 7, 2), (3, 6, 7), max_batch=12, kind=kind)  # type: ignore[arg-type]
    for wrong in (planes, planes[:0], planes[:2, :2], planes[0]):
        with pytest.raises(ShapeError, match=r"takes \[n, 3, 6, 7\] with n from 1 to 12"):
            engine.evaluate(wrong)


def test_wrong_wishes_are_refused(trained: Trained) -> None:
    module = trained(SMALL, (3, 6, 7), 7, 2)
    with pytest.raises(ConfigError, match="kinds: auto, openvino, torch"):
        make_engine(module, (3, 6, 7), kind="quick")  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="max_batch 0"):
        make_engine(module, (3, 6, 7), max_batch=0)


def test_torch_takes_over_where_openvino_is_missing(
    trained: Trained, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = trained(SMALL, (3, 6, 7), 7, 2)
    with pytest.raises(ConfigError, match="runs on the cpu, not on cuda"):
        make_engine(module, (3, 6, 7), device=torch.device("cuda"), kind="openvino")
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert make_engine(module, (3, 6, 7)).name == "torch cpu float32"
    with pytest.raises(MissingExtraError, match="pip install openvino"):
        make_engine(module, (3, 6, 7), kind="openvino")


def test_batch_sizes_are_few_and_end_at_the_largest() -> None:
    assert batch_sizes(128) == [32, 64, 96, 128]
    assert batch_sizes(24) == [16, 18, 24]
    assert batch_sizes(8) == [8]
    for largest in range(1, 300):
        sizes = batch_sizes(largest)
        assert sizes[-1] == largest
        assert len(sizes) <= 4


def test_device_is_resolved_with_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    device, reason = resolve_device("auto")
    assert device.type == "cpu"
    assert "no GPU" in reason
    assert resolve_device("cpu") == (torch.device("cpu"), "asked for")
    for text in ("cuda", "cuda:3"):
        with pytest.raises(DeviceError, match=f"device `{text}` was asked for.*0 GPUs.*use --device cpu"):
            resolve_device(text)
    for text in ("gpu", "cuda:x", ""):
        with pytest.raises(DeviceError, match="unknown device.*known: auto, cpu"):
            resolve_device(text)
