#!/usr/bin/env python
"""Writes tests/data/pyflink-signatures.json: every public name of PyFlink's APIs, with its parameters.

Run it with the Python of an environment that has apache-flink; no JVM is started:

    path/to/python scripts/dump_pyflink_signatures.py
"""

from __future__ import annotations

import importlib
import importlib.metadata
import json
import pkgutil
from pathlib import Path
from typing import Any

from compatibility.describe import describe_module

PACKAGES = ["pyflink.common", "pyflink.datastream", "pyflink.metrics", "pyflink.table", "pyflink.util"]
TARGET = Path(__file__).parents[1] / "tests" / "data" / "pyflink-signatures.json"


def modules() -> list[str]:
    """The packages and all modules below them."""
    found = list(PACKAGES)
    for package in PACKAGES:
        path = importlib.import_module(package).__path__
        inside = (module.name for module in pkgutil.walk_packages(path, f"{package}."))
        found += [name for name in inside if not {"tests", "examples"} & set(name.split("."))]
    return sorted(found)


def to_json(value: Any, indent: str = "") -> str:
    """JSON with one member a line, so that changes can be read."""
    if not isinstance(value, dict) or not value:
        return json.dumps(value)
    inner = f"{indent} "
    body = ",\n".join(f"{inner}{json.dumps(name)}: {to_json(part, inner)}" for name, part in value.items())
    return f"{{\n{body}\n{indent}}}"


def main() -> None:
    described = {name: describe_module(importlib.import_module(name)) for name in modules()}
    version = importlib.metadata.version("apache-flink")
    TARGET.write_text(to_json({"version": version, "modules": described}) + "\n", "utf-8")


if __name__ == "__main__":
    main()
