"""Write a network as ONNX: the exchange format of the CPU engines and of the browser.

The module is traced with torch.fx, batch normalisation is folded into the convolution before it,
and each step becomes one ONNX node: a few milliseconds, where a general exporter takes seconds. A
module may use the steps of `WRITERS`; another one needs a line there.
"""

import copy
import operator
from collections.abc import Callable
from typing import Any

import onnx
import torch
from onnx import TensorProto, helper, numpy_helper
from torch import Tensor, fx, nn
from torch.nn.utils.fusion import fuse_conv_bn_eval

from zelkova.errors import ShapeError

OPSET = 17  # ONNX operator set; every engine since 2022 reads it
IR_VERSION = 8  # the file version that goes with it
INPUT, OUTPUTS = "planes", ("policy_logits", "outcome_logits")


class GraphWriter:
    """The ONNX nodes and weights gathered while one traced module is walked through."""

    def __init__(self, traced: fx.GraphModule) -> None:
        """Begin with nothing written."""
        self.traced = traced
        self.nodes: list[onnx.NodeProto] = []
        self.weights: list[onnx.TensorProto] = []

    def weight(self, name: str, value: Tensor) -> str:
        """Store a weight and give its name in the graph."""
        self.weights.append(numpy_helper.from_array(value.detach().float().cpu().numpy(), name))
        return name

    def add(self, node: fx.Node, kind: str, inputs: list[str], **attributes: Any) -> None:
        """Write one node that answers under the traced node's name."""
        self.nodes.append(helper.make_node(kind, inputs, [node.name], name=node.name, **attributes))


def _write_conv(writer: GraphWriter, node: fx.Node, module: nn.Conv2d) -> None:
    names = [str(node.args[0]), writer.weight(f"{node.name}.weight", module.weight)]
    if module.bias is not None:
        names.append(writer.weight(f"{node.name}.bias", module.bias))
    if isinstance(module.padding, str):
        raise ShapeError(f"padding `{module.padding}` of {node.target} can't be written; give it as numbers")
    rows, columns = module.padding[0], module.padding[1]
    writer.add(
        node,
        "Conv",
        names,
        kernel_shape=list(module.kernel_size),
        strides=list(module.stride),
        dilations=list(module.dilation),
        group=module.groups,
        pads=[rows, columns, rows, columns],
    )


def _write_linear(writer: GraphWriter, node: fx.Node, module: nn.Linear) -> None:
    names = [str(node.args[0]), writer.weight(f"{node.name}.weight", module.weight)]
    if module.bias is not None:
        names.append(writer.weight(f"{node.name}.bias", module.bias))
    writer.add(node, "Gemm", names, transB=1)


def _write_relu(writer: GraphWriter, node: fx.Node, module: object) -> None:
    writer.add(node, "Relu", [str(node.args[0])])


def _write_add(writer: GraphWriter, node: fx.Node, module: object) -> None:
    writer.add(node, "Add", [str(node.args[0]), str(node.args[1])])


def _write_flatten(writer: GraphWriter, node: fx.Node, module: object) -> None:
    if tuple(node.args[1:]) not in ((1,), (1, -1)):
        raise ShapeError(f"flatten{tuple(node.args[1:])} can't be written; allowed: flatten(1)")
    writer.add(node, "Flatten", [str(node.args[0])], axis=1)


def _write_mean(writer: GraphWriter, node: fx.Node, module: nn.AdaptiveAvgPool2d) -> None:
    _write_pool(writer, node, "GlobalAveragePool", module.output_size)


def _write_max(writer: GraphWriter, node: fx.Node, module: nn.AdaptiveMaxPool2d) -> None:
    _write_pool(writer, node, "GlobalMaxPool", module.output_size)


def _write_pool(writer: GraphWriter, node: fx.Node, kind: str, size: Any) -> None:
    if size not in (1, (1, 1)):
        raise ShapeError(f"pooling {node.target} to {size} can't be written; allowed: to 1")
    writer.add(node, kind, [str(node.args[0])])


def _write_concat(writer: GraphWriter, node: fx.Node, module: object) -> None:
    parts, axis = node.args
    assert isinstance(parts, list | tuple)
    writer.add(node, "Concat", [str(part) for part in parts], axis=axis)


WRITERS: dict[object, Callable[[GraphWriter, fx.Node, Any], None]] = {
    nn.Conv2d: _write_conv,
    nn.Linear: _write_linear,
    nn.ReLU: _write_relu,
    nn.AdaptiveAvgPool2d: _write_mean,
    nn.AdaptiveMaxPool2d: _write_max,
    torch.cat: _write_concat,
    torch.relu: _write_relu,
    "relu_": _write_relu,
    operator.add: _write_add,
    "add_": _write_add,
    "flatten": _write_flatten,
}


def fold_batch_norms(module: nn.Module) -> fx.GraphModule:
    """Make a traced copy, for evaluation, in which each batch normalisation is part of its convolution.

    Args:
        module: left as it is.
    Raises:
        ShapeError: a batch normalisation that does not directly follow a convolution.
    """
    traced = fx.symbolic_trace(copy.deepcopy(module).eval())
    modules = dict(traced.named_modules())
    for node in list(traced.graph.nodes):
        norm = modules[str(node.target)] if node.op == "call_module" else None
        if not isinstance(norm, nn.BatchNorm2d):
            continue
        before = node.args[0]
        conv = modules[str(before.target)] if before.op == "call_module" else None
        if not isinstance(conv, nn.Conv2d) or len(before.users) != 1:
            raise ShapeError(f"batch normalisation `{node.target}` does not follow a convolution of its own")
        traced.set_submodule(str(before.target), fuse_conv_bn_eval(conv, norm))
        node.replace_all_uses_with(before)
        traced.graph.erase_node(node)
    traced.delete_all_unused_submodules()
    traced.recompile()
    return traced


def write_onnx(module: nn.Module, observation_shape: tuple[int, int, int], batch: int | None) -> bytes:
    """Write a network as an ONNX model with float32 weights, in evaluation mode.

    Args:
        module: planes [B, C, H, W] to (policy_logits, outcome_logits); left as it is.
        observation_shape: (C, H, W).
        batch: B if it is fixed; None leaves it free.
    Raises:
        ShapeError: the module has a step that has no writer.
    """
    traced = fold_batch_norms(module)
    writer = GraphWriter(traced)
    outputs: list[str] = []
    for node in traced.graph.nodes:
        if node.op == "placeholder":
            planes = node.name
        elif node.op == "get_attr":
            writer.weight(node.name, operator.attrgetter(node.target)(traced))
        elif node.op == "output":
            outputs = [str(value) for value in node.args[0]]
        else:
            part = traced.get_submodule(str(node.target)) if node.op == "call_module" else None
            key = type(part) if part is not None else node.target
            if key not in WRITERS:
                raise ShapeError(f"step `{node.format_node()}` can't be written as ONNX; add it to WRITERS")
            WRITERS[key](writer, node, part)
    for name, output in zip(OUTPUTS, outputs, strict=True):
        writer.nodes.append(helper.make_node("Identity", [output], [name]))
    rows = "batch" if batch is None else batch
    graph = helper.make_graph(
        writer.nodes,
        "network",
        [helper.make_tensor_value_info(planes, TensorProto.FLOAT, [rows, *observation_shape])],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, [rows, None]) for name in OUTPUTS],
        writer.weights,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR_VERSION)
    return bytes(model.SerializeToString())
