"""Layers are checked: planted imports that break a rule are found, and the runtime runs without Spark."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from scripts.house.layers import ENGINE, broken_layers
from scripts.house.tree import read_tree


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
    "datastream/stream_execution_environment.py": (
        "def execute():\n    from millrace.spark import session",
        "millrace.datastream.stream_execution_environment:2 imports millrace.spark.session",
    ),
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
    "datastream/stream_execution_environment.py": "from millrace.graph import nodes",
    "spark/session.py": "import pyspark\nfrom millrace.graph import nodes",
    "cli/main.py": "from millrace.cluster import rest\nimport millrace.hook\ndef run():\n    import pyspark",
    "cluster/__init__.py": "from millrace.spark import session",
    "util/__init__.py": "",
}


def write(source: Path, modules: Mapping[str, str]) -> None:
    for name, text in modules.items():
        file = source / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text + "\n")


@pytest.mark.parametrize("name", BAD)
def test_a_bad_import_is_reported(tmp_path: Path, name: str) -> None:
    text, expected = BAD[name]
    write(tmp_path, {**GOOD, name: text})
    found = list(broken_layers(read_tree(tmp_path)))
    assert len(found) == 1
    assert expected in found[0]


def test_good_imports_are_not_reported(tmp_path: Path) -> None:
    write(tmp_path, GOOD)
    assert list(broken_layers(read_tree(tmp_path))) == []
