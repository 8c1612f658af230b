#!/usr/bin/env python
"""Writes tests/data/pyflink-signatures.json: every public name of PyFlink's APIs, with its parameters.

Run it with the Python of an environment that has apache-flink; no JVM is started:

    path/to/python scripts/dump_pyflink_signatures.py
"""

from __future__ import annotations

import ast
import importlib
import importlib.metadata
import importlib.util
import json
import pkgutil
from pathlib import Path
from typing import Any

from compatibility.describe import describe_module, full_name

PACKAGES = ["pyflink.common", "pyflink.datastream", "pyflink.metrics", "pyflink.table", "pyflink.util"]
MODULES = ["pyflink.serializers"]
SHELL = "pyflink.shell"
TARGET = Path(__file__).parents[1] / "tests" / "data" / "pyflink-signatures.json"


def modules() -> list[str]:
    """The packages and all modules below them, and single modules."""
    found = [*PACKAGES, *MODULES]
    for package in PACKAGES:
        path = importlib.import_module(package).__path__
        inside = (module.name for module in pkgutil.walk_packages(path, f"{package}."))
        found += [name for name in inside if not {"tests", "examples"} & set(name.split("."))]
    return sorted(found)


def shell() -> dict[str, Any]:
    """What ``pyflink.shell`` exports, read from its source: the import of it starts a JVM."""
    found = importlib.util.find_spec(SHELL)
    assert found is not None and found.origin is not None
    exports: dict[str, str] = {}
    for node in ast.parse(Path(found.origin).read_text("utf-8")).body:
        if isinstance(node, ast.ImportFrom) and node.module and node.names[0].name == "*":
            module = importlib.import_module(node.module)
            exports |= {name: full_name(getattr(module, name)) for name in module.__all__}
        if isinstance(node, ast.Assign):
            exports |= {part.id: f"{SHELL}.{part.id}" for part in node.targets if isinstance(part, ast.Name)}
    return {"exports": exports, "classes": {}, "functions": {}, "constants": {}}


def to_json(value: Any, indent: str = "") -> str:
    """JSON with one member a line, so that changes can be read."""
    if not isinstance(value, dict) or not value:
        return json.dumps(value)
    inner = f"{indent} "
    body = ",\n".join(f"{inner}{json.dumps(name)}: {to_json(part, inner)}" for name, part in value.items())
    return f"{{\n{body}\n{indent}}}"


def main() -> None:
    described = {name: describe_module(importlib.import_module(name)) for name in modules()}
    described = dict(sorted({**described, SHELL: shell()}.items()))
    version = importlib.metadata.version("apache-flink")
    TARGET.write_text(to_json({"version": version, "modules": described}) + "\n", "utf-8")


if __name__ == "__main__":
    main()
