"""Size ceilings and names: small files, short functions, folders that can be taken in at a glance."""

import ast

import pytest
from tests.house import source
from tests.house.source import PACKAGE, ROOT, Module

FILE_LINES = 400
LARGE_GAME_LINES = 800
FUNCTION_LINES = 50
FUNCTION_ARGUMENTS = 6
FOLDER_FILES = 10
UNBOUND_FOLDERS = {"cli", "games"}

LONG_FUNCTIONS: set[str] = {
    "zelkova.networks.inference:make_engine",  # five options, all by keyword
    "zelkova.export.search:search_entries",  # closures that are compiled together
}
"""Functions that pass a ceiling for a good reason, as module:function."""

NEVER = ("utils", "util", "common", "helpers", "helper", "manager", "misc")


def functions(module: Module) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    return [
        node for node in ast.walk(module.tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]


def code_lines(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Count a function's lines from its `def` on, without its docstring."""
    doc = node.body[0] if ast.get_docstring(node) is not None else None
    documented = (doc.end_lineno or 0) - doc.lineno + 1 if doc is not None else 0
    return (node.end_lineno or 0) - node.lineno + 1 - documented


def arguments(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    args = node.args
    return len(
        [arg for arg in args.posonlyargs + args.args + args.kwonlyargs if arg.arg not in ("self", "cls")]
    )


def is_kernel(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Say whether Numba compiles the function: then it can take no dataclass for its many arrays."""
    marks = [ast.unparse(decorator) for decorator in node.decorator_list]
    return any("njit" in mark or "kernel" in mark for mark in marks)


def too_big(module: Module) -> list[str]:
    """Name the functions of a module that pass a ceiling."""
    command = module.name.rpartition(".")[2] if module.room == "cli" else ""  # its parameters are its options
    return [
        f"{module.name}:{node.name}"
        for node in functions(module)
        if code_lines(node) > FUNCTION_LINES
        or (arguments(node) > FUNCTION_ARGUMENTS and node.name != command and not is_kernel(node))
    ]


def test_files_keep_their_size(capsys: pytest.CaptureFixture[str]) -> None:
    lengths = {module.path: len(module.text.splitlines()) for module in source.modules().values()}
    largest = sorted(lengths.items(), key=lambda item: -item[1])[:10]
    with capsys.disabled():
        print(f"\n{sum(lengths.values())} lines in {len(lengths)} files; the largest:")
        for path, lines in largest:
            print(f"  {lines:4} {path.relative_to(ROOT)}")
    for path, lines in lengths.items():
        is_rules = path.name == "rules.py" and path.parts[-3] == "games"
        assert lines <= (LARGE_GAME_LINES if is_rules else FILE_LINES), f"{path} has {lines} lines"


def test_functions_keep_their_size() -> None:
    found = {name for module in source.modules().values() for name in too_big(module)}
    assert found - LONG_FUNCTIONS == set(), "shorten it, or pass a dataclass"
    assert LONG_FUNCTIONS - found == set(), "no exception is needed any more"


def test_folders_keep_their_size() -> None:
    for folder in [PACKAGE, *(path for path in PACKAGE.rglob("*") if path.is_dir())]:
        files = [path for path in folder.glob("*.py") if path.name != "__init__.py"]
        if folder.name not in UNBOUND_FOLDERS:
            assert len(files) <= FOLDER_FILES, f"{folder} has {len(files)} files"


def test_names_say_what_is_inside() -> None:
    for folder in ("src", "tests", "bench", "examples", "experiments"):
        for path in (ROOT / folder).rglob("*"):
            if "__pycache__" in path.parts:
                continue
            words = path.stem.lower().replace("-", "_").split("_")
            assert not set(words) & set(NEVER), f"{path}: name the subject instead"


def test_the_ceilings_are_felt() -> None:
    long = "def f():\n" + "    x = 1\n" * FUNCTION_LINES
    wide = "def g(a, b, c, d, e, f, h): ...\n"
    fine = 'def h(self, a, b, c, d, e, f):\n    """' + "word\n" * 80 + '"""\n'
    kernel = "@njit(cache=True)\ndef k(a, b, c, d, e, f, h): ...\n"
    module = Module("zelkova.games.x", PACKAGE, False, long + wide + fine + kernel)
    assert too_big(module) == ["zelkova.games.x:f", "zelkova.games.x:g"]
