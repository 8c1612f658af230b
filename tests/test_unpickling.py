"""Every module that could run code which it reads is in a table of docs/guide/security.md, with its reason."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "millrace"
GUIDE = ROOT / "docs" / "guide" / "security.md"

LOADERS = {"load", "loads", "Unpickler", "_Unpickler"}
MODULES = {"pickle", "_pickle", "cPickle", "cloudpickle", "marshal", "dill", "shelve", "joblib", "jsonpickle"}
MODULES |= {"millrace.checkpoint.moved"}  # which reads pickles of earlier versions, too
BUILTINS = {"eval", "exec", "compile", "__import__"}
METHODS = {"read_pickle"}
"""of other libraries"""


class Uses(ast.NodeVisitor):
    """Finds what runs what it reads, under whatever name it was imported, called or handed on."""

    def __init__(self) -> None:
        self.found: list[tuple[int, str]] = []
        self._modules: dict[str, str] = {}

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            if alias.name in MODULES:
                self._modules[alias.asname or alias.name] = alias.name

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        for alias in node.names:
            if node.module in MODULES and alias.name in LOADERS:
                self.found.append((node.lineno, f"{node.module}.{alias.name}"))

    def visit_Attribute(self, node: ast.Attribute) -> None:
        owner = self._modules.get(node.value.id) if isinstance(node.value, ast.Name) else None
        if node.attr in METHODS or (owner is not None and node.attr in LOADERS):
            self.found.append((node.lineno, f"{owner}.{node.attr}"))
        self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> None:
        if node.id in BUILTINS and isinstance(node.ctx, ast.Load):
            self.found.append((node.lineno, node.id))

    def visit_Call(self, node: ast.Call) -> None:
        for keyword in node.keywords:
            if keyword.arg in ("shell", "allow_pickle") and getattr(keyword.value, "value", None) is True:
                self.found.append((node.lineno, f"{keyword.arg}=True"))
        self.generic_visit(node)


def uses_in(text: str) -> list[tuple[int, str]]:
    uses = Uses()
    uses.visit(ast.parse(text))
    return uses.found


def modules() -> dict[str, list[tuple[int, str]]]:
    found = {str(file.relative_to(SOURCE)): uses_in(file.read_text("utf-8")) for file in SOURCE.rglob("*.py")}
    return {module: uses for module, uses in found.items() if uses}


def listed() -> Iterator[str]:
    """The modules in the first column of the table; a cell may hold several."""
    for line in GUIDE.read_text("utf-8").partition("## Where code is loaded")[2].splitlines():
        if line.startswith("|"):
            yield from re.findall(r"`([\w/]+\.py)`", line.split("|")[1])


def test_every_module_is_listed_with_its_reason() -> None:
    found, known = modules(), list(listed())
    assert len(known) == len(set(known)), "a module is listed twice"
    missing = {module: uses for module, uses in found.items() if module not in known}
    assert not missing, f"these run what they read: say in {GUIDE} what that is and why it may be trusted"
    assert not set(known) - found.keys(), f"these don't any more: take them out of {GUIDE}"


@pytest.mark.parametrize(
    "text",
    [
        "import pickle\npickle.loads(b'')",
        "import pickle as p\nlist(map(p.loads, x))",
        "from pickle import loads",
        "import cloudpickle\ncloudpickle.load(f)",
        "import pickle\nclass A(pickle.Unpickler): pass",
        "def f():\n  import marshal\n  return marshal.loads(b'')",
        "eval('1')",
        "exec(code, {})",
        "import pandas\npandas.read_pickle(f)",
        "import numpy\nnumpy.load(f, allow_pickle=True)",
        "import subprocess\nsubprocess.run('ls', shell=True)",
    ],
)
def test_what_is_found(text: str) -> None:
    assert uses_in(text)


@pytest.mark.parametrize(
    "text",
    ["import json\njson.loads('1')", "import pickle\npickle.dumps(1)", "function.eval(1)", "import re\nre.compile('')"],
)
def test_what_is_not(text: str) -> None:
    assert not uses_in(text)
