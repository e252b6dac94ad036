"""Turns Python functions that Numba compiles into one WebAssembly module.

The functions' LLVM code is taken as Numba wrote it, before anything was optimised for this machine, given the
data layout of wasm32, optimised for that and linked by a `wasm-ld` found here. The module imports nothing:
what allocates, raises or needs a library of mathematics is refused with the name of the function.

At the border every argument and result is a plain number: uint32 for an address, int32, float32 or float64 as
JavaScript numbers, 64 bits as BigInt. Memory is the caller's; `__heap_base` says where it begins.
"""

import importlib.util
import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm
from numba import types
from numba.core.codegen import CPUCodeLibrary
from numba.core.compiler_lock import global_compiler_lock

from zelkova.errors import GameError, MissingExtraError
from zelkova.export.copies import Copies, locate

TRIPLE = "wasm32-unknown-unknown"
FEATURES = "+simd128,+bulk-memory,+nontrapping-fptoint,+sign-ext,+mutable-globals"
LLVM_TYPES = {
    types.void: "void",
    types.int32: "i32",
    types.uint32: "i32",
    types.int64: "i64",
    types.uint64: "i64",
    types.float32: "float",
    types.float64: "double",
}
_NEXT_STEP = "next: apt-get install lld (Debian, Ubuntu), brew install lld (macOS) or pip install ziglang"


@dataclass(frozen=True)
class Entry:
    """One function that the module exports."""

    name: str  # what JavaScript calls
    function: Callable[..., Any]  # plain Python; calls functions made by numba.njit
    signature: Any  # Numba's, of the types in LLVM_TYPES
    parts: tuple[tuple[Callable[..., Any], Any], ...] = field(default=())
    # functions that it calls, with their signatures: compiled first, so that an error names the one at fault


def export_wasm(entries: Sequence[Entry], path: Path, description: Mapping[str, Any] | None = None) -> None:
    """Write a WebAssembly module.

    Args:
        entries: what it exports.
        path: the file to write.
        description: kept as JSON in the module's custom section `zelkova`, for whoever loads it.
    Raises:
        GameError: a function can't be exported; the message names it and its line.
        MissingExtraError: no wasm-ld is installed.
    """
    linker = find_linker()
    with global_compiler_lock:
        code, blame = compile_object(entries)
    with tempfile.TemporaryDirectory(prefix="zelkova-export-") as folder:
        source, target = Path(folder, "module.o"), Path(folder, "module.wasm")
        source.write_bytes(code)
        exports = [f"--export={entry.name}" for entry in entries]
        flags = ["--no-entry", "--gc-sections", "--strip-all", "--stack-first", "--export=__heap_base"]
        done = subprocess.run(
            [*linker, *flags, *exports, "-o", str(target), str(source)],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            missing = sorted(set(re.findall(r"undefined symbol: (\S+)", done.stderr)))
            raise GameError(blame(missing) if missing else f"{linker[0]} failed: {done.stderr.strip()}")
        module = target.read_bytes()
    path.write_bytes(module + _custom_section("zelkova", json.dumps(description or {}).encode()))


def find_linker() -> list[str]:
    """Find a linker for WebAssembly: wasm-ld, its newest numbered form, or the one of the ziglang package.

    Returns:
        The command's first words.
    Raises:
        MissingExtraError: there is none.
    """
    for name in ("wasm-ld", *(f"wasm-ld-{number}" for number in range(30, 13, -1))):
        if shutil.which(name):
            return [name]
    if importlib.util.find_spec("ziglang"):
        return [sys.executable, "-m", "ziglang", "wasm-ld"]
    raise MissingExtraError(
        f"exporting to WebAssembly needs the linker wasm-ld, which was not found; {_NEXT_STEP}"
    )


def compile_object(entries: Sequence[Entry]) -> tuple[bytes, Callable[[Sequence[str]], str]]:
    """Compile the entries into one object file for wasm32.

    Returns:
        The file, and a function that says in words who needs the symbols that are missing.
    """
    copies = Copies()
    with _unoptimised() as raw:
        for entry in entries:
            for function, signature in entry.parts:
                copies.compile(function, signature)
        results = [copies.compile(entry.function, entry.signature) for entry in entries]
    borders = "".join(_border(entry, result.fndesc) for entry, result in zip(entries, results, strict=True))
    texts = [f"declare void @llvm.trap()\n{borders}", *_texts([result.library for result in results], raw)]

    def blame(missing: Sequence[str]) -> str:
        sources, callers = copies.sources(), _callers(_link(texts))
        for symbol in missing:
            for name in (symbol, symbol.removesuffix("f")):
                for caller in callers.get(name, ()):
                    if caller in sources:
                        return (
                            f"{locate(sources[caller])} needs `{symbol}`, which WebAssembly doesn't have; "
                            "allowed: arithmetic, bits, comparisons, abs, min, max, sqrt, floor, ceil"
                        )
        return f"the module needs {', '.join(missing)}, which WebAssembly doesn't have"

    return _optimise(_link(texts), {entry.name for entry in entries}), blame


@contextmanager
def _unoptimised() -> Iterator[dict[Any, list[str]]]:
    """Collect the code of everything that Numba compiles in the meantime, not yet optimised, by library."""
    collected: dict[Any, list[str]] = {}
    original = CPUCodeLibrary.add_ir_module

    def add_ir_module(self: Any, module: Any) -> None:
        collected.setdefault(self, []).append(str(module))
        original(self, module)

    CPUCodeLibrary.add_ir_module = add_ir_module
    try:
        yield collected
    finally:
        CPUCodeLibrary.add_ir_module = original


def _border(entry: Entry, described: Any) -> str:
    """Write the function that JavaScript calls: it hands the arguments on and traps if the callee fails."""
    result = LLVM_TYPES[entry.signature.return_type]
    kinds = [LLVM_TYPES[kind] for kind in entry.signature.args]
    received = ", ".join(f"{kind} %a{index}" for index, kind in enumerate(kinds))
    passed = "".join(f", {kind} %a{index}" for index, kind in enumerate(kinds))
    inner = described.llvm_func_name
    answer = "ret void" if result == "void" else f"%value = load {result}, ptr %result\n  ret {result} %value"
    return f"""
declare i32 @"{inner}"(ptr, ptr{"".join(", " + kind for kind in kinds)})
define {result} @"{entry.name}"({received}) {{
  %result = alloca i64
  %problem = alloca ptr
  %status = call i32 @"{inner}"(ptr %result, ptr %problem{passed})
  %is_value = icmp eq i32 %status, 0
  %is_none = icmp eq i32 %status, -2
  %is_good = or i1 %is_value, %is_none
  br i1 %is_good, label %good, label %bad
good:
  {answer}
bad:
  call void @llvm.trap()
  unreachable
}}
"""


def _texts(libraries: Sequence[Any], raw: Mapping[Any, Sequence[str]]) -> Iterator[str]:
    """Yield the code of the libraries and of all that they use, unoptimised where just compiled."""
    waiting, seen = list(libraries), set()
    while waiting:
        library = waiting.pop()
        if library not in seen and library.name != "nrt":
            seen.add(library)
            waiting += library._linking_libraries
            yield from raw[library] if library in raw else [str(library._get_module_for_linking())]


def _link(texts: Sequence[str]) -> Any:
    """Bring pieces of code into one module with the layout of wasm32."""
    layout = str(_machine().target_data)
    module = llvm.parse_assembly("")
    for text in texts:
        part = llvm.parse_assembly(text)
        part.triple, part.data_layout = TRIPLE, layout
        module.link_in(part)
    module.triple, module.data_layout = TRIPLE, layout
    return module


def _callers(module: Any) -> dict[str, list[str]]:
    """Tell who calls what: for the plain name of a function or intrinsic (`exp`), its callers' names."""
    callers: dict[str, list[str]] = {}
    for function in module.functions:
        for block in function.blocks:
            for instruction in block.instructions:
                if instruction.opcode == "call":
                    callee = list(instruction.operands)[-1].name
                    plain = callee.split(".")[1] if callee.startswith("llvm.") else callee
                    callers.setdefault(plain, []).append(function.name)
    return callers


def _optimise(module: Any, exports: set[str]) -> bytes:
    """Optimise for wasm32 and give the object file; only the exports stay visible."""
    for value in (*module.functions, *module.global_variables):
        if not value.is_declaration and value.name not in exports:
            value.linkage = "internal"
    module.verify()
    machine = _machine()
    tuning = llvm.create_pipeline_tuning_options(speed_level=3)
    builder = llvm.create_pass_builder(machine, tuning)
    builder.getModulePassManager().run(module, builder)
    code: bytes = machine.emit_object(module)
    return code


def _machine() -> Any:
    """Describe the machine to compile for."""
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    return llvm.Target.from_triple(TRIPLE).create_target_machine(opt=3, features=FEATURES)


def _custom_section(name: str, content: bytes) -> bytes:
    """Write a custom section (WebAssembly core specification, 5.5.3): id 0, size, name, content."""
    body = bytes([len(name)]) + name.encode() + content
    size, length = len(body), bytearray()
    while True:
        size, low = size >> 7, size & 0x7F
        length.append(low | (0x80 if size else 0))
        if not size:
            return b"\0" + bytes(length) + body
