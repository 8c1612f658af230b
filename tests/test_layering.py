"""Which package may import which: the arrows of the design, checked in the source of every module.

    datastream, table, cep  ->  graph  ->  runtime  ->  relational            spark, cluster, cli on top

Imports under ``if TYPE_CHECKING`` do not count: they never run.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

PACKAGE = "millrace"
SOURCE = Path(__file__).parents[1] / "src" / PACKAGE

# "" are the modules right under millrace.
EVERYTHING = {
    "", "cdc", "cep", "checkpoint", "cli", "cluster", "common", "configuration", "connectors", "datastream", "dbapi",
    "formats", "graph", "lint", "metrics", "notebook", "relational", "runtime", "spark", "state", "table", "testing",
    "util",
}  # fmt: skip
BELOW_SPARK = EVERYTHING - {"spark", "cluster", "cli", "dbapi", "cdc", "lint", "notebook"}

# Settings that the graph carries along.
VALUES = {
    "datastream.checkpoint_config",
    "datastream.checkpoint_storage",
    "datastream.checkpointing_mode",
    "datastream.execution_mode",
    "datastream.slot_sharing_group",
    "datastream.state_backend",
}

# Package -> what its modules may import: packages or single modules.
ALLOWED: dict[str, set[str]] = {
    "": BELOW_SPARK,
    "__main__": EVERYTHING,
    # Older names: finds the room in functions, which nothing else knows.
    "legacy": BELOW_SPARK | {"legacy"},
    # What faces Java in PyFlink: found by the names of pyflink only.
    "standins": BELOW_SPARK | {"standins"},
    # Which options are secrets is a table of words, which itself imports nothing. Classes that once had other methods
    # ask what knows them, if anything does; that is a list that imports nothing, either. Nor do the words for a full
    # disk.
    "common": {"common", "util.fallback", "util.room", "util.secrets"},
    "metrics": {"common", "metrics", "util.secrets"},
    "util": {"common", "util"},
    # Types, expressions, plan nodes and built-in functions of tables: descriptions and columns, no engine.
    "relational": {"common", "util", "relational"},
    "configuration": {"common", "util", "configuration"},
    "runtime": {"common", "metrics", "util", "relational", "runtime"},
    "connectors": {
        "common",
        "util",
        "relational",
        "connectors",
        "formats",
        "datastream.not_yet",
    },
    "formats": {"common", "util", "relational", "connectors", "formats", "datastream.not_yet"},
    "checkpoint": {"common", "util", "runtime", "checkpoint"},
    "graph": {"common", "util", "relational", "runtime", "graph", "connectors"} | VALUES,
    "datastream": BELOW_SPARK,
    "table": BELOW_SPARK,
    "cep": BELOW_SPARK,
    "state": BELOW_SPARK,
    "testing": BELOW_SPARK,
    # Pipelines of YAML are programs of streams.
    "cdc": BELOW_SPARK | {"cdc"},
    # Looks at programs that were built; only the command knows of it.
    "lint": BELOW_SPARK | {"lint"},
    "spark": EVERYTHING - {"cluster", "cli", "dbapi", "cdc", "lint", "notebook"},
    "cluster": EVERYTHING - {"cli", "dbapi", "cdc", "lint", "notebook"},
    # Speaks to a gateway over HTTP; of the rest it needs types, rows and the tokens of SQL.
    "dbapi": {"common", "util", "relational", "table.sql", "cluster.sql_client", "dbapi"},
    "cli": EVERYTHING - {"notebook"},
    "notebook": EVERYTHING,
}
# Module -> what it may import beyond that inside a function: where a program is handed to the engine.
ALLOWED_IN_FUNCTIONS: dict[str, set[str]] = {
    "datastream.stream_execution_environment": {"spark"},
    "datastream.settings.defaults": {"cluster"},
    "table.engines": {"spark"},
    # What notebooks show of them.
    "table.table": {"notebook"},
    "datastream.data_stream": {"notebook"},
}

ENGINE = {"pyspark", "py4j"}
STARTS_JAVA = {"testing.services.search"}
"""modules that start a server in Java through py4j, inside functions, and no Spark"""
NAMES_JAVA_ERRORS = {"util.java_errors"}
"""the class that makes errors a ``Py4JJavaError``, too, if py4j is there"""
MAY_IMPORT_ENGINE = {"spark"}
MAY_IMPORT_ENGINE_IN_FUNCTIONS = {"spark", "cli"}


@dataclass(frozen=True)
class Import:
    """One module that a module imports."""

    target: str
    line: int
    in_function: bool


class Imports(ast.NodeVisitor):
    """Collects what a module imports, with absolute names and without what only a type checker sees."""

    def __init__(self, module: str, is_package: bool, modules: set[str]) -> None:
        self.found: list[Import] = []
        self._package = module if is_package else module.rpartition(".")[0]
        self._modules = modules
        self._depth = 0

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            self._add(alias.name, node)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        base = node.module or ""
        if node.level:
            parents = self._package.split(".")
            base = ".".join([*parents[: len(parents) - node.level + 1], *([base] if base else [])])
        for alias in node.names:
            # `from millrace import graph` imports a module, `from millrace.graph import Node` a name of one.
            full = f"{base}.{alias.name}"
            self._add(full if full in self._modules else base, node)

    def visit_Call(self, node: ast.Call) -> None:
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if name in {"import_module", "__import__"} and node.args and isinstance(node.args[0], ast.Constant):
            self._add(str(node.args[0].value), node)
        self.generic_visit(node)

    def visit_If(self, node: ast.If) -> None:
        test = node.test
        if (test.attr if isinstance(test, ast.Attribute) else getattr(test, "id", "")) == "TYPE_CHECKING":
            for statement in node.orelse:
                self.visit(statement)
        else:
            self.generic_visit(node)

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        # Decorators and defaults run with the module, but nobody imports there.
        self._visit_function(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> None:
        self._visit_function(node)

    def visit_Lambda(self, node: ast.Lambda) -> None:
        self._visit_function(node)

    def _visit_function(self, node: ast.AST) -> None:
        self._depth += 1
        self.generic_visit(node)
        self._depth -= 1

    def _add(self, target: str, node: ast.AST) -> None:
        self.found.append(Import(target, getattr(node, "lineno", 0), self._depth > 0))


def module_name(file: Path, source: Path) -> str:
    parts = file.relative_to(source).with_suffix("").parts
    return ".".join([PACKAGE, *(parts[:-1] if parts[-1] == "__init__" else parts)])


def within(module: str, allowed: set[str]) -> bool:
    """Is ``module`` one of ``allowed`` or inside one of them?"""
    return layer_of(module) in allowed or any(module == name or module.startswith(f"{name}.") for name in allowed)


def layer_of(name: str) -> str:
    """The package that a module (named without ``millrace.``) belongs to."""
    head, dot, _ = name.partition(".")
    return head if dot or head in ALLOWED or head in EVERYTHING else ""


def broken_rule(name: str, layer: str, found: Import) -> str | None:
    """The rule that an import of the module ``name`` breaks."""
    top, _, target = found.target.partition(".")
    if top in ENGINE:
        if found.in_function and name in STARTS_JAVA:
            return None
        if top == "py4j" and name in NAMES_JAVA_ERRORS:
            return None
        permitted = MAY_IMPORT_ENGINE_IN_FUNCTIONS if found.in_function else MAY_IMPORT_ENGINE
        return None if layer in permitted else "only spark may import pyspark and py4j, and cli inside functions"
    if top != PACKAGE or not target:  # `from millrace import __version__` is free
        return None
    if layer not in ALLOWED:
        return f"no rule for {layer}: add it to ALLOWED in tests/test_layering.py"
    if within(target, ALLOWED[layer]):
        return None
    if within(target, ALLOWED_IN_FUNCTIONS.get(name, set())):
        return None if found.in_function else f"{name} may import {target} only inside functions"
    return f"{layer or PACKAGE} may import only {', '.join(name or PACKAGE for name in sorted(ALLOWED[layer]))}"


def violations(source: Path) -> Iterator[str]:
    """One line per import that breaks a rule: module, line, what it imports, the rule."""
    files = sorted(source.rglob("*.py"))
    modules = {module_name(file, source) for file in files}
    for file in files:
        module = module_name(file, source)
        name = module.partition(".")[2]
        is_package = file.name == "__init__.py"
        layer = name.partition(".")[0] if is_package else layer_of(name)
        imports = Imports(module, is_package, modules)
        imports.visit(ast.parse(file.read_text("utf-8"), str(file)))
        for found in imports.found:
            if rule := broken_rule(name, layer, found):
                yield f"{module}:{found.line} imports {found.target}: {rule}"


def test_every_module_imports_only_what_its_layer_may() -> None:
    found = list(violations(SOURCE))
    assert not found, "\n".join(["", *found])


def test_the_runtime_runs_where_spark_is_not_installed() -> None:
    program = f"""
import importlib, pkgutil, sys
for engine in {sorted(ENGINE)}:
    sys.modules[engine] = None  # import raises ModuleNotFoundError
import millrace.runtime
for module in pkgutil.walk_packages(millrace.runtime.__path__, "millrace.runtime."):
    importlib.import_module(module.name)
print([name for name in sys.modules if name.startswith("millrace.spark")])
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "[]"


BAD = {
    "runtime/timers.py": ("import millrace.spark.session", "millrace.runtime.timers:1 imports millrace.spark.session"),
    "runtime/keyed.py": ("from ..graph import nodes", "millrace.runtime.keyed:1 imports millrace.graph.nodes"),
    "runtime/front.py": ("from millrace.datastream import DataStream", "millrace.runtime.front:1 imports millrace."),
    "runtime/state/backend.py": ("def f():\n    from pyspark.sql import Row", "backend:2 imports pyspark.sql"),
    "common/types.py": ("from millrace import util", "millrace.common.types:1 imports millrace.util"),
    "graph/plan.py": ('import importlib\nimportlib.import_module("millrace.cli.main")', "millrace.graph.plan:2"),
    "datastream/stream_execution_environment.py": ("from millrace.spark import session", "only inside functions"),
    "datastream/other.py": ("def f():\n    import millrace.spark.session", "datastream.other:2 imports"),
    "datastream/__init__.py": ("from .. import cluster", "millrace.datastream:1 imports millrace.cluster"),
    "spark/epochs.py": ("import millrace.cluster.rest", "millrace.spark.epochs:1 imports millrace.cluster.rest"),
    "cli/run.py": ("import pyspark", "millrace.cli.run:1 imports pyspark"),
    "cluster/rest.py": ("def f():\n    import py4j", "millrace.cluster.rest:2 imports py4j"),
    "shiny/new.py": ("import millrace.common.types", "no rule for shiny"),
    "shiny/__init__.py": ("from . import new", "no rule for shiny"),
    "activate.py": ("import millrace.cli.run", "millrace.activate:1 imports millrace.cli.run"),
    "runtime/hooked.py": ("from millrace.hook import activate", "runtime.hooked:1 imports millrace.hook"),
    "metrics/group.py": ("try:\n    import millrace.util\nexcept ImportError:\n    pass", "metrics.group:2 imports"),
    "formats/checked.py": (
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    pass\nelse:\n    import millrace.graph",
        "millrace.formats.checked:5 imports millrace.graph",
    ),
}
GOOD = {
    "__init__.py": "from millrace.hook import activate",
    "hook.py": "def activate():\n    from millrace import datastream",
    "__main__.py": "from millrace.cli.run import main",
    "graph/nodes.py": "from millrace.common.output_tag import OutputTag\nfrom millrace import __version__",
    "runtime/windows.py": "from millrace.common.window import Window\nfrom . import windows\nimport pickle",
    "formats/json.py": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from millrace.spark import session",
    "formats/csv.py": "import typing as t\nif t.TYPE_CHECKING:\n    import pyspark",
    "datastream/stream_execution_environment.py": "def execute():\n    from millrace.spark import session",
    "spark/session.py": "import pyspark\nfrom millrace.graph import nodes",
    "cli/main.py": "from millrace.cluster import rest\nimport millrace.hook\ndef run():\n    import pyspark",
    "cluster/__init__.py": "from millrace.spark import session",
    "util/__init__.py": "",
}


def write(source: Path, modules: dict[str, str]) -> None:
    for name, text in modules.items():
        file = source / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text + "\n")


@pytest.mark.parametrize("name", BAD)
def test_a_bad_import_is_reported(tmp_path: Path, name: str) -> None:
    text, expected = BAD[name]
    write(tmp_path, {**GOOD, name: text})
    found = list(violations(tmp_path))
    assert len(found) == 1
    assert expected in found[0]


def test_good_imports_are_not_reported(tmp_path: Path) -> None:
    write(tmp_path, GOOD)
    assert list(violations(tmp_path)) == []
