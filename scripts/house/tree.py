"""The modules of the package with what each imports, read once for all rules."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

PACKAGE = "millrace"
SOURCE = Path(__file__).parents[2] / "src" / PACKAGE
MAX_DOOR_LINES = 20
DOOR = "# Written by `make tables` from millrace.pyflink_names: edit that, not this file."
"""the first line of a door that scripts/doors.py writes"""


@dataclass(frozen=True)
class Import:
    """A module that another one imports."""

    target: str
    line: int
    in_function: bool


@dataclass(frozen=True)
class Module:
    """One file, with an absolute name."""

    name: str
    file: Path
    text: str
    tree: ast.Module
    imports: tuple[Import, ...]
    """without those that only a type checker sees"""

    @property
    def is_package(self) -> bool:
        return self.file.name == "__init__.py"

    @property
    def lines(self) -> int:
        return self.text.count("\n")

    @property
    def is_generated(self) -> bool:
        """Is this a door that scripts/doors.py writes? Rules about sizes leave it out."""
        return self.text.startswith(DOOR)

    @cached_property
    def is_door(self) -> bool:
        """Is this the ``__init__`` of a package, or a thin re-export under a path that programs import from?"""
        return self.is_package or self.is_generated or (self.lines <= MAX_DOOR_LINES and is_thin(self.tree))

    @property
    def folder(self) -> str:
        return self.name if self.is_package else self.name.rpartition(".")[0]


def is_thin(tree: ast.Module) -> bool:
    """Does a module do nothing but give names of other modules (and start one of them as a command)?"""
    return all(
        isinstance(each, ast.Import | ast.ImportFrom)
        or (isinstance(each, ast.Expr) and isinstance(each.value, ast.Constant))
        or (isinstance(each, ast.Assign | ast.AugAssign | ast.AnnAssign) and "__all__" in ast.unparse(each))
        or (isinstance(each, ast.If) and "__main__" in ast.unparse(each.test))
        for each in tree.body
    )


def read_tree(source: Path = SOURCE) -> dict[str, Module]:
    """Module name -> module, of all files below ``source``."""
    files = sorted(source.rglob("*.py"))
    names = {module_name(file, source) for file in files}
    return {module.name: module for module in (_read(file, source, names) for file in files)}


def module_name(file: Path, source: Path) -> str:
    parts = file.relative_to(source).with_suffix("").parts
    return ".".join([PACKAGE, *(parts[:-1] if parts[-1] == "__init__" else parts)])


def _read(file: Path, source: Path, names: set[str]) -> Module:
    text = file.read_text("utf-8")
    tree = ast.parse(text, str(file))
    name = module_name(file, source)
    package = name if file.name == "__init__.py" else name.rpartition(".")[0]
    return Module(name, file, text, tree, tuple(imports_of(tree, package, names)))


def imports_of(tree: ast.Module, package: str, names: set[str]) -> Iterator[Import]:
    """Imports with absolute names; ``if TYPE_CHECKING`` is left out."""
    waiting: list[tuple[ast.AST, bool]] = [(tree, False)]
    while waiting:
        node, in_function = waiting.pop()
        if isinstance(node, ast.Import | ast.ImportFrom):
            for target in _targets(node, package, names):
                yield Import(target, node.lineno, in_function)
            continue
        if isinstance(node, ast.Call) and (target := _imported_by_call(node)):
            yield Import(target, node.lineno, in_function)
        below: list[ast.AST] = list(ast.iter_child_nodes(node))
        if isinstance(node, ast.If) and _is_type_checking(node.test):
            below = list(node.orelse)
        # Decorators and defaults run with the module, but no module imports there.
        in_function = in_function or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        waiting += [(each, in_function) for each in reversed(below)]


def _targets(node: ast.Import | ast.ImportFrom, package: str, names: set[str]) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
        return
    base = node.module or ""
    if node.level:
        parents = package.split(".")
        base = ".".join([*parents[: len(parents) - node.level + 1], *([base] if base else [])])
    for alias in node.names:
        # `from millrace import graph` imports a module, `from millrace.graph import Node` a name of one.
        full = f"{base}.{alias.name}"
        yield full if full in names else base


def _imported_by_call(node: ast.Call) -> str | None:
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    if name in {"import_module", "__import__"} and node.args and isinstance(node.args[0], ast.Constant):
        return str(node.args[0].value)
    return None


def _is_type_checking(test: ast.expr) -> bool:
    return (test.attr if isinstance(test, ast.Attribute) else getattr(test, "id", "")) == "TYPE_CHECKING"
