"""The corpus that Flink and Millrace both run: expressions, queries, programs and mistakes. Imports neither of them."""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
DATA = HERE / "data"
ZONE = "America/New_York"
"""the session's time zone"""
BATCH, STREAMING = "batch", "streaming"

# Every column of `t` is cast to every type. Texts are tried, since most are no number and no time.
_TARGETS = (
    "BOOLEAN, TINYINT, SMALLINT, INT, BIGINT, FLOAT, DOUBLE, DECIMAL(5; 1), DECIMAL(38; 0), CHAR(4), VARCHAR(3), "
    "STRING, BINARY(4), VARBINARY(3), BYTES, DATE, TIME, TIMESTAMP(0), TIMESTAMP(3), TIMESTAMP(9), TIMESTAMP_LTZ(3)"
).replace(";", ",")
TARGETS = re.split(r", (?=[A-Z])", _TARGETS)
COLUMNS = ("b", "ti", "si", "i", "l", "f", "d", "dc", "big", "bs", "dt", "tm", "ts", "ts6", "ltz")
TEXTS = (
    "s",
    "n",
    "' 42 '",
    "'1.5e2'",
    "'-0'",
    "'true'",
    "'T'",
    "'no'",
    "'2020-02-29'",
    "'2020-02-29 12:13:14.5'",
    "'12:13:14'",
    "'99999999999999999999'",
    "''",
    "'NaN'",
)


@dataclass(frozen=True)
class Query:
    """A query, and the modes that it has a meaning in."""

    sql: str
    modes: tuple[str, ...]

    def __str__(self) -> str:
        return self.sql


def expressions() -> list[str]:
    """Expressions over the table ``t``."""
    return list(dict.fromkeys([*_lines("expressions"), *casts()]))


def casts() -> list[str]:
    found = [f"CAST({column} AS {target})" for column in COLUMNS for target in TARGETS]
    return found + [f"TRY_CAST({text} AS {target})" for text in TEXTS for target in TARGETS]


def queries() -> list[Query]:
    found = []
    for line in _lines("queries"):
        match = re.fullmatch(r"(.*?)(?: \[(batch|streaming)\])?", line)
        assert match is not None
        found.append(Query(match[1], (match[2],) if match[2] else (BATCH, STREAMING)))
    return found


def errors() -> list[str]:
    """Statements that Flink refuses, or that fail when they run."""
    return (HERE / "errors.txt").read_text(encoding="utf-8").splitlines()


WITH_ROWS = ("SELECT", "SHOW", "DESC", "SET")
"""How statements begin whose rows are compared; those of EXPLAIN are not."""


def scripts() -> list[str]:
    """Statements between doubled semicolons, a script a line; the last one is what is asked."""
    return _lines("statements")


def statements_of(script: str, folder: str) -> list[str]:
    """The statements of a script, whose files are in a folder."""
    return [part.strip() for part in script.replace("{tmp}", folder).split(";;")]


def stream_programs() -> dict[str, Callable[[Any], Any]]:
    """name -> function from an environment to a stream. Imports ``pyflink``."""
    found = {}
    for name in ("transformations", "state", "windows"):
        module = importlib.import_module(f"{__name__}.programs.{name}")
        for each, function in vars(module).items():
            if inspect.isfunction(function) and function.__module__ == module.__name__ and not each.startswith("_"):
                if list(inspect.signature(function).parameters) == ["env"]:
                    found[each] = function
    return found


def program_text(name: str) -> str:
    """What a program says, to see whether it is still the one that Flink was asked."""
    return inspect.getsource(stream_programs()[name])


def create_statements(data: Path = DATA) -> list[str]:
    text = (HERE / "tables.sql").read_text(encoding="utf-8").replace("{data}", str(data))
    return [statement.strip() for statement in text.split(";") if statement.strip()]


def _lines(folder: str) -> list[str]:
    files = sorted((HERE / folder).iterdir())
    return [line.strip() for file in files for line in file.read_text(encoding="utf-8").splitlines() if line.strip()]
