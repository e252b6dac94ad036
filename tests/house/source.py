"""What the house tests read: the package's modules, and what each one imports."""

import ast
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "zelkova"


@dataclass(frozen=True)
class Module:
    """One module of the package."""

    name: str  # dotted, from `zelkova` on
    path: Path
    is_package: bool
    text: str

    @property
    def room(self) -> str:
        """The folder below the package, or the name of a module that stands alone."""
        parts = self.name.split(".")
        return parts[1] if len(parts) > 1 else "zelkova"

    @property
    def tree(self) -> ast.Module:
        return ast.parse(self.text, self.path.name)


@cache
def modules() -> dict[str, Module]:
    """Read every module of the package, by dotted name."""
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = ["zelkova", *path.relative_to(PACKAGE).with_suffix("").parts]
        is_package = parts[-1] == "__init__"
        name = ".".join(parts[:-1] if is_package else parts)
        found[name] = Module(name, path, is_package, path.read_text(encoding="utf-8"))
    return found


def imported_names(module: Module) -> set[str]:
    """List everything that a module imports anywhere: at the top, in functions, for types only, by string."""
    names: set[str] = set()
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            origin = _origin(module, node)
            names |= {f"{origin}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Call) and ast.unparse(node.func) in (
            "importlib.import_module",
            "import_module",
        ):
            names |= {str(part.value) for part in node.args[:1] if isinstance(part, ast.Constant)}
    return names


def _origin(module: Module, node: ast.ImportFrom) -> str:
    """Give the module that a `from` names, relative ones resolved."""
    if not node.level:
        return node.module or ""
    parts = module.name.split(".")
    parts = parts[: len(parts) - node.level + int(module.is_package)]
    return ".".join([*parts, node.module] if node.module else parts)


def resolve(name: str, known: dict[str, Module]) -> str | None:
    """Give the module of the package that an imported name comes from, None for other packages."""
    while name and name not in known:
        name = name.rpartition(".")[0]
    return name or None


def imports(module: Module, known: dict[str, Module] | None = None) -> set[str]:
    """List the modules of the package that a module imports."""
    known = modules() if known is None else known
    found = {resolve(name, known) for name in imported_names(module)}
    return {name for name in found if name is not None and name != module.name}
