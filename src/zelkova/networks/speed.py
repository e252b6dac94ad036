"""How many positions a second each engine evaluates here, beside peers and a physical limit.

Rates are taken the way self-play runs: several engines of one thread each, side by side. All of
them are made first and then measured in turn, round after round, so that a machine shared with
others slows each alike; the median round counts.
"""

import importlib
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from zelkova.networks.build import build_network
from zelkova.networks.config import NetworkConfig
from zelkova.networks.inference import make_engine
from zelkova.networks.onnx_graph import INPUT, OUTPUTS, write_onnx

Floats = NDArray[np.float32]
Evaluate = Callable[[Floats], Any]
GEMM_SIZE = 1024  # edge of the square matrices whose product gives the limit
WISHES: tuple[dict[str, Any], ...] = (  # the first is what self-play gets
    {},
    {"kind": "torch", "precision": "bfloat16"},
    {"kind": "torch", "precision": "float32"},
)
POLICY_SCALE = 0.5  # spread of the random logits that precision is judged on


@dataclass(frozen=True)
class SpeedConfig:
    """What is measured."""

    networks: tuple[tuple[int, int], ...] = ((32, 3), (64, 4))  # (channels, residual blocks) of each network
    batches: tuple[int, ...] = (64, 128, 256)  # rows of a call
    observation_shape: tuple[int, int, int] = (3, 6, 7)  # C, H, W; connect four's by default
    num_actions: int = 7  # A
    engines: int = 2  # side by side, one thread each
    seconds: float = 0.5  # of each round
    rounds: int = 3  # the median one counts


def measure_engines(config: SpeedConfig) -> list[dict[str, Any]]:
    """Measure every engine of this machine's CPU at every network and batch size.

    Args:
        config: what is measured.
    Returns:
        records {"name", "value", "params"}: network/evaluations_per_s (all engines together),
        network/load_s (new weights), network/policy_error (the largest difference of a probability
        from float32), network/share_of_gemm (of the multiply-adds a second that a bfloat16 matrix
        product of PyTorch reaches with the same threads), network/gemm_tflops.
    """
    gemm = measure_gemm(config)
    records: list[dict[str, Any]] = [
        {
            "name": "network/gemm_tflops",
            "value": gemm / 1e12,
            "params": {"dtype": "bfloat16", "threads": config.engines},
        }
    ]
    for channels, blocks in config.networks:
        module = random_network(config, channels, blocks)
        flops = count_flops(module, config.observation_shape)
        for batch in config.batches:
            params = {"channels": channels, "blocks": blocks, "batch": batch, "engines": config.engines}
            records += _measure_one(config, module, params, flops / gemm)
    return records


def random_network(config: SpeedConfig, channels: int, blocks: int) -> nn.Module:
    """Build a residual network whose every weight matters, last layers included.

    Args:
        config: gives planes and actions; two players.
        channels: of the tower.
        blocks: of the tower.
    """
    shape = NetworkConfig(channels=channels, blocks=blocks)
    module = build_network(shape, config.observation_shape, config.num_actions, 2, True)
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for name, tensor in module.named_parameters():
            if not tensor.any():
                is_scale = name.endswith("second.1.weight")
                tensor.normal_(
                    0.5 if is_scale else 0.0, POLICY_SCALE / tensor.shape[-1] ** 0.5, generator=generator
                )
    return module.eval()


def count_flops(module: nn.Module, observation_shape: tuple[int, int, int]) -> float:
    """Count the floating-point operations of one position (a multiply-add is two).

    Args:
        module: the network.
        observation_shape: (C, H, W).
    """
    with FlopCounterMode(display=False) as counter, torch.inference_mode():
        module(torch.zeros(1, *observation_shape))
    return float(counter.get_total_flops())


def measure_gemm(config: SpeedConfig) -> float:
    """Measure the limit: operations a second of bfloat16 matrix products, a thread for each engine.

    Args:
        config: engines, seconds and rounds.
    """
    matrices = [torch.ones(GEMM_SIZE, GEMM_SIZE, dtype=torch.bfloat16) for _ in range(3)]

    def multiply(planes: Floats) -> None:
        torch.set_num_threads(1)  # of this thread alone
        torch.mm(matrices[0], matrices[1])

    calls = [multiply] * config.engines
    inputs = np.zeros((1, 1, 1, 1), np.float32)
    return (
        median(run_side_by_side(calls, inputs, config.seconds) for _ in range(config.rounds))
        * 2
        * GEMM_SIZE**3
    )


def run_side_by_side(calls: Sequence[Evaluate], planes: Floats, seconds: float) -> float:
    """Count the rows a second that several functions evaluate, each in its own thread.

    Args:
        calls: one for each thread.
        planes: [B, C, H, W], given to every call.
        seconds: how long.
    """
    rows, is_over = [0] * len(calls), threading.Event()

    def work(index: int) -> None:
        while not is_over.is_set():
            calls[index](planes)
            rows[index] += len(planes)

    threads = [threading.Thread(target=work, args=(index,)) for index in range(len(calls))]
    begin = time.perf_counter()
    for thread in threads:
        thread.start()
    time.sleep(seconds)
    is_over.set()
    for thread in threads:
        thread.join()
    return sum(rows) / (time.perf_counter() - begin)


def onnxruntime_peer(model: bytes) -> Evaluate:
    """Make a peer that evaluates an ONNX model with one thread of ONNX Runtime that does not spin.

    Args:
        model: from write_onnx.
    """
    onnxruntime = importlib.import_module("onnxruntime")
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    return lambda planes: session.run(list(OUTPUTS), {INPUT: planes})


def _measure_one(
    config: SpeedConfig, module: nn.Module, params: dict[str, Any], time_at_limit: float
) -> list[dict[str, Any]]:
    """Measure every engine with one network and batch size."""
    shape, batch = config.observation_shape, params["batch"]
    planes = (np.random.default_rng(0).random((batch, *shape)) < 0.4).astype(np.float32)
    with torch.inference_mode():
        expected = torch.softmax(module(torch.from_numpy(planes))[0], 1)
    made = [
        [make_engine(module, shape, max_batch=batch, **wish) for _ in range(config.engines)]
        for wish in WISHES
    ]
    engines = {row[0].name: row[0] for row in made}
    calls: dict[str, list[Evaluate]] = {row[0].name: [engine.evaluate for engine in row] for row in made}
    model = write_onnx(module, shape, batch)
    calls["onnxruntime float32"] = [onnxruntime_peer(model) for _ in range(config.engines)]
    rounds = [
        {name: run_side_by_side(call, planes, config.seconds) for name, call in calls.items()}
        for _ in range(config.rounds)
    ]
    records = []
    for name in calls:
        rate = median(each[name] for each in rounds)
        where = {**params, "engine": name, "is_chosen": name == made[0][0].name}
        records.append({"name": "network/evaluations_per_s", "value": rate, "params": where})
        records.append({"name": "network/share_of_gemm", "value": rate * time_at_limit, "params": where})
        if name in engines:
            begin = time.perf_counter()
            engines[name].load(module)
            records.append({"name": "network/load_s", "value": time.perf_counter() - begin, "params": where})
            policy = torch.softmax(torch.from_numpy(engines[name].evaluate(planes)[0]), 1)
            error = float((policy - expected).abs().max())
            records.append({"name": "network/policy_error", "value": error, "params": where})
    return records
