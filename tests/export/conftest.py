"""What the export tests need: Node, and a linker for WebAssembly."""

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from zelkova.errors import MissingExtraError
from zelkova.export.wasm import find_linker

HERE = Path(__file__).parent


@pytest.fixture
def linker() -> list[str]:
    try:
        return find_linker()
    except MissingExtraError as error:
        pytest.skip(str(error))


@pytest.fixture
def run_node(linker: list[str]) -> Callable[..., str]:
    """Run a script of this folder in Node and give what it printed."""
    node = shutil.which("node") or shutil.which("nodejs")
    if node is None:
        pytest.skip("Node is not installed; next: apt-get install nodejs")

    def run(script: str, *arguments: object) -> str:
        command = [node, str(HERE / script), *map(str, arguments)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run
