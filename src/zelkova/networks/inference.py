"""Inference engines: a batch of planes in, policy and outcome logits out, as fast as the device goes.

Two kinds. `OpenVinoEngine` is the one for CPUs: it runs in bfloat16 where the processor has it and
was the fastest measured (docs/benchmarks.md). `TorchEngine` is always there, and is the one for
GPUs, where it replays a captured graph. Both take a fixed batch: a smaller one is padded. Each engine
belongs to one thread at a time; engines in different threads run side by side (the GIL is released),
and nothing spins while it waits, so that a busy neighbour costs its share and no more.
"""

import functools
import importlib
import importlib.util
from typing import Any, Literal, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from zelkova.errors import ConfigError, DeviceError, MissingExtraError, ShapeError
from zelkova.networks.onnx_graph import INPUT, fold_batch_norms, write_onnx

Precision = Literal["auto", "float32", "bfloat16", "float16"]
Floats = NDArray[np.float32]
PRECISIONS: dict[str, torch.dtype] = {
    "float32": torch.float32,
    "bfloat16": torch.bfloat16,
    "float16": torch.float16,
}
SMALLEST_BATCH = 16  # rows that a smaller call is padded to; see batch_sizes


class Engine(Protocol):
    """Evaluates planes with the weights that were loaded last."""

    name: str  # kind and precision, such as "openvino bfloat16"
    max_batch: int  # the most rows that one call takes

    def load(self, module: nn.Module) -> None:
        """Take over the module's weights (of the architecture that the engine was made with)."""

    def evaluate(self, planes: Floats) -> tuple[Floats, Floats]:
        """Evaluate planes [n, C, H, W], n <= max_batch: policy_logits [n, A], outcome_logits [n, P + 1].

        The answers are new arrays. The same planes and n give the same numbers.

        Raises:
            ShapeError: planes of another shape, or more rows than max_batch.
        """


def _check_planes(planes: Floats, observation_shape: tuple[int, int, int], max_batch: int) -> int:
    """Give the number of rows, or say what is wrong with the planes."""
    if planes.ndim != 4 or planes.shape[1:] != observation_shape or not 0 < planes.shape[0] <= max_batch:
        sizes = ", ".join(map(str, observation_shape))
        raise ShapeError(
            f"planes have shape {planes.shape}; this engine takes [n, {sizes}]"
            f" with n from 1 to {max_batch}; make the engine with a larger max_batch for more"
        )
    return int(planes.shape[0])


@functools.cache
def _openvino() -> tuple[Any, Any]:
    """Import and start OpenVINO, once a process: the package and its core."""
    openvino = importlib.import_module("openvino")
    return openvino, openvino.Core()


class _Plan:
    """The network compiled by OpenVINO for one batch size, with the arrays that it reads and writes."""

    def __init__(
        self, model: bytes, rows: int, observation_shape: tuple[int, int, int], options: Any
    ) -> None:
        """Compile the ONNX model for exactly `rows` rows."""
        openvino, core = _openvino()
        graph = core.read_model(model)
        graph.reshape({INPUT: [rows, *observation_shape]})
        self.request = core.compile_model(graph, "CPU", options).create_infer_request()
        tensor = openvino.Tensor(np.zeros((rows, *observation_shape), np.float32))
        self.request.set_input_tensor(tensor)
        self.planes: Floats = tensor.data
        self.policy: Floats = self.request.get_output_tensor(0).data
        self.outcome: Floats = self.request.get_output_tensor(1).data


class OpenVinoEngine:
    """A network on the CPU through OpenVINO, compiled for a few batch sizes, each when first needed."""

    def __init__(
        self,
        module: nn.Module,
        observation_shape: tuple[int, int, int],
        max_batch: int,
        threads: int,
        precision: Precision,
    ) -> None:
        """Compile the module for max_batch rows."""
        if precision == "auto":
            capabilities = _openvino()[1].get_property("CPU", "OPTIMIZATION_CAPABILITIES")
            precision = "bfloat16" if "BF16" in capabilities else "float32"
        self.name = f"openvino {precision}"
        self.max_batch = max_batch
        self._observation_shape = observation_shape
        self._sizes = batch_sizes(max_batch)
        self._options = {
            "INFERENCE_PRECISION_HINT": {"float32": "f32", "bfloat16": "bf16", "float16": "f16"}[precision],
            "PERFORMANCE_HINT": "LATENCY",
            "NUM_STREAMS": 1,
            "INFERENCE_NUM_THREADS": threads,
            "ENABLE_CPU_PINNING": False,  # two pinned engines would share one core
        }
        self.load(module)

    def load(self, module: nn.Module) -> None:
        """Take over the module's weights; see Engine."""
        self._model = write_onnx(module, self._observation_shape, batch=None)
        self._plans: dict[int, _Plan] = {}
        self._plan(self.max_batch)

    def _plan(self, rows: int) -> _Plan:
        size = next(size for size in self._sizes if size >= rows)
        plan = self._plans.get(size)
        if plan is None:
            plan = self._plans[size] = _Plan(self._model, size, self._observation_shape, self._options)
        return plan

    def evaluate(self, planes: Floats) -> tuple[Floats, Floats]:
        """Evaluate planes; see Engine."""
        rows = _check_planes(planes, self._observation_shape, self.max_batch)
        plan = self._plan(rows)
        plan.planes[:rows] = planes
        plan.request.infer()
        return plan.policy[:rows].copy(), plan.outcome[:rows].copy()


def batch_sizes(max_batch: int) -> list[int]:
    """Choose the batch sizes that networks are compiled for: quarters of max_batch, 16 rows or more.

    Below about 12 rows other kernels are chosen, which round differently. Without them a row's answer
    was the same to the bit in a batch of any size (measured for six networks).

    Args:
        max_batch: the largest one.
    """
    least = min(SMALLEST_BATCH, max_batch)
    return sorted({max(least, -(-max_batch * quarter // 4)) for quarter in (1, 2, 3, 4)})


class TorchEngine:
    """A network through PyTorch: eager on a CPU; on a GPU one captured graph of max_batch rows."""

    def __init__(
        self,
        module: nn.Module,
        observation_shape: tuple[int, int, int],
        device: torch.device,
        max_batch: int,
        threads: int,
        precision: Precision,
    ) -> None:
        """Copy the module to the device and, on a GPU, capture its graph."""
        if precision == "auto":
            precision = "float16" if device.type == "cuda" else "float32"
        self.name = f"torch {device.type} {precision}"
        self.max_batch = max_batch
        self._observation_shape = observation_shape
        self._device, self._dtype, self._threads = device, PRECISIONS[precision], threads
        self._network = self._prepare(module)
        if device.type == "cuda":
            self._capture()

    def _prepare(self, module: nn.Module) -> nn.Module:
        folded = fold_batch_norms(module).requires_grad_(False)
        return folded.to(device=self._device, dtype=self._dtype, memory_format=torch.channels_last)  # type: ignore[call-overload, no-any-return]

    def _capture(self) -> None:
        """Record the whole evaluation, so that one call replays every kernel of it."""
        shape = (self.max_batch, *self._observation_shape)
        self._stream = torch.cuda.Stream(self._device)  # type: ignore[no-untyped-call]
        self._host_planes = torch.zeros(shape, pin_memory=True)
        with torch.inference_mode(), torch.cuda.stream(self._stream):
            self._planes = torch.zeros(shape, device=self._device)
            for _ in range(3):  # lets libraries choose kernels and allocate before the recording
                self._compute(self._planes)
            self._stream.synchronize()
            self._graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self._graph, stream=self._stream, capture_error_mode="thread_local"):
                self._answers = self._compute(self._planes)
            self._host_answers = tuple(torch.empty(answer.shape, pin_memory=True) for answer in self._answers)
            self._stream.synchronize()

    def _compute(self, planes: Tensor) -> tuple[Tensor, Tensor]:
        policy, outcome = self._network(planes.to(dtype=self._dtype, memory_format=torch.channels_last))
        return policy.float(), outcome.float()

    def load(self, module: nn.Module) -> None:
        """Take over the module's weights; see Engine. A captured graph reads them in place."""
        new = self._prepare(module).state_dict()
        with torch.no_grad():
            for name, tensor in self._network.state_dict().items():
                tensor.copy_(new[name])
        if self._device.type == "cuda":
            torch.cuda.synchronize(self._device)

    def evaluate(self, planes: Floats) -> tuple[Floats, Floats]:
        """Evaluate planes; see Engine."""
        rows = _check_planes(planes, self._observation_shape, self.max_batch)
        if self._device.type == "cuda":
            return self._replay(planes, rows)
        before = torch.get_num_threads()
        torch.set_num_threads(self._threads)  # OpenMP keeps this number for each calling thread
        try:
            with torch.inference_mode():
                policy, outcome = self._compute(torch.from_numpy(planes).to(self._device))
            return policy.cpu().numpy(), outcome.cpu().numpy()
        finally:
            torch.set_num_threads(before)

    def _replay(self, planes: Floats, rows: int) -> tuple[Floats, Floats]:
        self._host_planes[:rows] = torch.from_numpy(planes)
        with torch.inference_mode(), torch.cuda.stream(self._stream):
            self._planes[:rows].copy_(self._host_planes[:rows], non_blocking=True)
            self._graph.replay()
            for host, answer in zip(self._host_answers, self._answers, strict=True):
                host[:rows].copy_(answer[:rows], non_blocking=True)
            self._stream.synchronize()
        policy, outcome = (host[:rows].numpy().copy() for host in self._host_answers)
        return policy, outcome


def resolve_device(text: str = "auto") -> tuple[torch.device, str]:
    """Turn a wish for a device into the device, and the reason in words.

    Args:
        text: "auto" (a GPU if there is one), "cpu", "cuda", "cuda:1", "mps".
    Returns:
        the device, and one sentence that says why it was chosen.
    Raises:
        DeviceError: the device asked for is not there, or the text names none.
    """
    has_cuda = torch.cuda.is_available()
    if text == "auto":
        if has_cuda:
            return torch.device("cuda"), f"found the GPU {torch.cuda.get_device_name()}"
        return torch.device("cpu"), "found no GPU that PyTorch can use"
    try:
        device = torch.device(text)
    except RuntimeError:
        device = None
    if device is None or device.type not in ("cpu", "cuda", "mps"):
        raise DeviceError(f"unknown device `{text}`; known: auto, cpu, cuda, cuda:1, mps; hint: use auto")
    if device.type == "cuda" and (not has_cuda or (device.index or 0) >= torch.cuda.device_count()):
        count = torch.cuda.device_count() if has_cuda else 0
        raise DeviceError(
            f"device `{text}` was asked for, and PyTorch sees {count} GPUs"
            f" (torch {torch.__version__}, built for CUDA {torch.version.cuda or '(none)'});"
            " use --device cpu, or install a driver and a PyTorch built for CUDA"
        )
    if device.type == "mps" and not torch.backends.mps.is_available():
        raise DeviceError(f"device `{text}` was asked for, and PyTorch can't use it here; use --device cpu")
    return device, "asked for"


def make_engine(
    module: nn.Module,
    observation_shape: tuple[int, int, int],
    *,
    device: torch.device | str = "cpu",
    max_batch: int = 128,
    threads: int = 1,
    precision: Precision = "auto",
    kind: Literal["auto", "openvino", "torch"] = "auto",
) -> Engine:
    """Make the fastest engine that this device has.

    Args:
        module: the network; copied, so that training may go on.
        observation_shape: (C, H, W).
        device: from resolve_device, or a word that it takes.
        max_batch: the most rows of one call; the speed is best for calls of just this many.
        threads: CPU threads that one call may use; 1 for each of two engines beats 2 for one.
        precision: "auto" is bfloat16 where the CPU has it, float16 on a GPU, else float32.
        kind: "auto" is openvino on a CPU where that package is installed, else torch.
    Raises:
        ConfigError: a word that is not known, or a number below 1.
        DeviceError: the device is not there.
        MissingExtraError: openvino was asked for by name and is not installed.
    """
    if kind not in ("auto", "openvino", "torch") or precision not in ("auto", *PRECISIONS):
        raise ConfigError(
            f"engine kind `{kind}` with precision `{precision}` is not known;"
            f" kinds: auto, openvino, torch; precisions: auto, {', '.join(PRECISIONS)}"
        )
    if max_batch < 1 or threads < 1:
        raise ConfigError(f"max_batch {max_batch} and threads {threads} must be 1 or more")
    channels, height, width = observation_shape
    observation_shape = (channels, height, width)  # a tuple, whatever came
    place = resolve_device(device)[0] if isinstance(device, str) else device
    has_openvino = importlib.util.find_spec("openvino") is not None
    if kind == "openvino" and place.type != "cpu":
        raise ConfigError(f"engine openvino runs on the cpu, not on {place}; use kind auto or torch there")
    if kind == "openvino" and not has_openvino:
        raise MissingExtraError(
            "engine openvino needs a package: pip install openvino; or use kind auto or torch"
        )
    if kind == "openvino" or (kind == "auto" and has_openvino and place.type == "cpu"):
        return OpenVinoEngine(module, observation_shape, max_batch, threads, precision)
    return TorchEngine(module, observation_shape, place, max_batch, threads, precision)
