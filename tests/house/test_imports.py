"""The floor plan: imports never run up a floor and never form a ring."""

import ast
import importlib
import subprocess
import sys
from pathlib import Path

import pytest
from tests.house import source
from tests.house.source import Module

FLOORS_1_TO_3 = (
    "games envs search networks replay records agents learning export selfplay evaluation reports play"
)
MAY_IMPORT = {
    room: set(allowed.split())
    for room, allowed in {
        "zelkova": "compile_cache",
        "errors": "",
        "compile_cache": "",
        "settings": "",
        "games": "",
        "envs": "games",
        "search": "",
        "networks": "",
        "replay": "",
        "records": "games",
        "agents": "games search networks",
        "learning": "networks replay",
        "export": "games search networks",
        "selfplay": "games envs agents replay",
        "evaluation": "games envs search agents",
        "reports": "games records",
        "play": "games records agents",
        "config": f"settings {FLOORS_1_TO_3}",
        "wheel": f"config settings {FLOORS_1_TO_3}",
        "train": f"wheel config settings {FLOORS_1_TO_3}",
        "bench": f"config settings {FLOORS_1_TO_3}",
        "cli": f"train wheel bench config settings {FLOORS_1_TO_3}",
        "__main__": "cli",
    }.items()
}
"""The table of docs/architecture.md; every room may also import errors and itself."""

EVERYWHERE = {"errors", "zelkova"}
TORCH_ROOMS = {"networks", "learning", "agents"}
TORCH_MODULES = {f"zelkova.search.models.torch_{name}" for name in ("answers", "draws", "model", "rows")}
DRAWING_ROOMS = {"games", "play", "cli"}


def wrong_floors(known: dict[str, Module]) -> list[str]:
    """Name each import that the table does not allow."""
    return [
        f"{module.path}: {module.name} imports {name}; {module.room}/ may import "
        f"{', '.join(sorted(MAY_IMPORT[module.room])) or 'nothing'}"
        for module in known.values()
        for name in sorted(source.imports(module, known))
        if known[name].room not in MAY_IMPORT[module.room] | EVERYWHERE | {module.room}
    ]


def find_ring(known: dict[str, Module]) -> list[str]:
    """Give a chain of modules that import each other and ends where it starts; empty where there is none."""
    edges = {name: sorted(source.imports(module, known)) for name, module in known.items()}
    done: set[str] = set()

    def walk(name: str, path: list[str]) -> list[str]:
        if name in path:
            return [*path[path.index(name) :], name]
        if name in done:
            return []
        for other in edges[name]:
            ring = walk(other, [*path, name])
            if ring:
                return ring
        done.add(name)
        return []

    for name in edges:
        ring = walk(name, [])
        if ring:
            return ring
    return []


def fake(name: str, text: str) -> Module:
    return Module(name, Path(name), False, text)


def test_every_room_has_its_floor() -> None:
    rooms = {module.room for module in source.modules().values()}
    assert rooms - set(MAY_IMPORT) == set(), "give the room a line in the table and in docs/architecture.md"


def test_imports_never_run_up_a_floor() -> None:
    assert wrong_floors(source.modules()) == []


def test_imports_form_no_ring() -> None:
    assert " -> ".join(find_ring(source.modules())) == ""


@pytest.mark.parametrize(
    "text",
    [
        "import zelkova.games.registry",
        "from zelkova import games",
        "from ...games import registry",
        "def f():\n    from zelkova.games.registry import load",
        "if TYPE_CHECKING:\n    from zelkova.games.registry import load",
        "importlib.import_module('zelkova.games.registry')",
    ],
)
def test_the_floor_check_sees_every_way_to_import(text: str) -> None:
    known = {
        "zelkova.games": fake("zelkova.games", ""),
        "zelkova.games.registry": fake("zelkova.games.registry", ""),
        "zelkova.search.kernels.tree": fake("zelkova.search.kernels.tree", text),
    }
    assert len(wrong_floors(known)) == 1


def test_the_ring_check_finds_a_ring() -> None:
    known = {
        "zelkova.games.a": fake("zelkova.games.a", "from zelkova.games import b"),
        "zelkova.games.b": fake("zelkova.games.b", "def f():\n    import zelkova.games.c"),
        "zelkova.games.c": fake("zelkova.games.c", "from .a import x"),
    }
    assert find_ring(known)[0] == find_ring(known)[-1]
    del known["zelkova.games.c"]
    assert find_ring(known) == []


@pytest.mark.parametrize("name", sorted(source.modules()))
def test_every_module_imports(name: str) -> None:
    if not name.endswith("__main__"):
        importlib.import_module(name)


@pytest.mark.parametrize("name", [n for n in sorted(source.modules()) if n.endswith(".rules")])
def test_rules_import_numpy_and_numba_only(name: str) -> None:
    outside = {word.split(".")[0] for word in source.imported_names(source.modules()[name])}
    assert outside - set(sys.stdlib_module_names) <= {"numpy", "numba"}


def test_torch_and_drawings_stay_in_their_rooms() -> None:
    for module in source.modules().values():
        names = source.imported_names(module)
        if module.room not in TORCH_ROOMS and module.name not in TORCH_MODULES:
            assert not [name for name in names if name.split(".")[0] == "torch"], module.name
        if module.room not in DRAWING_ROOMS:
            assert not [name for name in names if ".drawing" in name], module.name


@pytest.mark.parametrize("arguments", [["-c", "import zelkova"], ["-m", "zelkova", "--help"]])
def test_nothing_heavy_is_imported_to_greet(arguments: list[str]) -> None:
    done = subprocess.run(
        [sys.executable, "-X", "importtime", *arguments], capture_output=True, text=True, check=True
    )
    imported = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines() if "|" in line}
    assert "zelkova" in imported
    heavy = {
        "torch",
        "numba",
        "llvmlite",
        "numpy",
        "matplotlib",
        "onnx",
        "onnxruntime",
        "openvino",
        "safetensors",
    }
    assert imported & heavy == set()


def test_only_the_program_prints() -> None:
    for module in source.modules().values():
        calls = [node.func for node in ast.walk(module.tree) if isinstance(node, ast.Call)]
        prints = [call for call in calls if isinstance(call, ast.Name) and call.id == "print"]
        assert not prints or module.room == "cli", f"{module.name} prints; leave that to cli/"
