#!/usr/bin/env python
"""Writes tests/data/pyflink-signatures.json: the public methods of PyFlink's DataStream classes and their parameters.

Run it with the Python of an environment that has apache-flink; no JVM is started:

    /opt/flinkenv/bin/python scripts/dump_pyflink_signatures.py
"""

from __future__ import annotations

import importlib.metadata
import inspect
import json
from pathlib import Path

from pyflink.datastream import data_stream
from pyflink.datastream.stream_execution_environment import StreamExecutionEnvironment

CLASSES = [
    data_stream.DataStream,
    data_stream.KeyedStream,
    data_stream.ConnectedStreams,
    data_stream.DataStreamSink,
    StreamExecutionEnvironment,
]
TARGET = Path(__file__).parents[1] / "tests" / "data" / "pyflink-signatures.json"


def parameters(function: object) -> list[str]:
    """Names, with ``*`` before those that take many and ``=`` behind those that have a default."""
    found = []
    for parameter in inspect.signature(function).parameters.values():
        if parameter.name == "self":
            continue
        star = {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}.get(parameter.kind, "")
        default = "" if parameter.default is parameter.empty else "="
        found.append(f"{star}{parameter.name}{default}")
    return found


def main() -> None:
    classes = {
        cls.__name__: {
            name: parameters(member)
            for name, member in sorted(inspect.getmembers(cls, inspect.isroutine))
            if not name.startswith("_")
        }
        for cls in CLASSES
    }
    lines = [f'  "version": {json.dumps(importlib.metadata.version("apache-flink"))}']
    for cls, methods in classes.items():
        body = ",\n".join(f"    {json.dumps(name)}: {json.dumps(names)}" for name, names in methods.items())
        lines.append(f'  "{cls}": {{\n{body}\n  }}')
    TARGET.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
