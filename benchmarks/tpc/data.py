"""Where tables and queries of the benchmarks lie, and how they come there."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Collection
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.tpc.dialect import Query, queries_in

BENCHMARKS = {"tpch": 22, "tpcds": 99}
GENERATOR = ("duckdb==1.5.5", "duckdb-extension-tpch==1.5.5", "duckdb-extension-tpcds==1.5.5")
"""packages of PyPI: the extensions are built for exactly this version"""
_HERE = Path(__file__).resolve().parent
HOME = _HERE.parents[1] / ".tpc"
_TYPES = {"int64": "BIGINT", "int32": "INT", "string": "STRING", "date32[day]": "DATE", "double": "DOUBLE"}


@dataclass(frozen=True)
class Workload:
    """The tables and queries of one benchmark."""

    benchmark: str
    tables: dict[str, Path]
    queries: dict[str, Query]

    def ddl(self) -> list[str]:
        """CREATE TABLE for each table, as Flink and Millrace take it."""
        return [_ddl(name, path) for name, path in self.tables.items()]

    def first(self) -> str:
        """A small query that each side runs before the first one is timed."""
        return f"SELECT COUNT(*) FROM {next(iter(self.tables))}"

    def only(self, numbers: Collection[str]) -> Workload:
        """The same with some of the queries."""
        names = [f"{self.benchmark} {number}" for number in numbers]
        return replace(self, queries={name: self.queries[name] for name in names})


def workload(benchmark: str, scale: str, home: Path = HOME) -> Workload:
    """Makes what is missing.

    :param scale: such as 0.01; 1 is about a gigabyte of text.
    """
    folder = home / f"sf{scale}" / benchmark
    if not (home / f"sf{scale}" / "whole").exists():
        _generate(home, scale)
    tables = {path.stem: path for path in sorted(folder.glob("*.parquet"))}
    return Workload(benchmark, tables, queries_in(home / "queries" / benchmark, benchmark))


def _generate(home: Path, scale: str) -> None:
    python = home / "generator" / "bin" / "python"
    if not python.exists():
        _run(sys.executable, "-m", "venv", str(home / "generator"))
        _run(str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *GENERATOR)
    _run(str(python), str(_HERE / "generate.py"), str(home), scale)
    (home / f"sf{scale}" / "whole").touch()


def _run(*command: str) -> None:
    environ = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    subprocess.run(command, check=True, env=environ)


def _ddl(name: str, path: Path) -> str:
    columns = ", ".join(f"`{field.name}` {_type(field.type)}" for field in pq.read_schema(path))
    options = f"'connector' = 'filesystem', 'format' = 'parquet', 'path' = 'file://{path}'"
    return f"CREATE TEMPORARY TABLE {name} ({columns}) WITH ({options})"


def _type(kind: pa.DataType) -> str:
    if pa.types.is_decimal(kind):
        return f"DECIMAL({kind.precision}, {kind.scale})"
    return _TYPES[str(kind)]
