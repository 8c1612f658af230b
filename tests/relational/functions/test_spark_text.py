"""Spark computes the same as the columns do, for every example of a function that has Spark text."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from millrace.relational.arrow import arrow_type
from millrace.relational.values import to_python
from tests.relational.functions.examples import Example, columns_of, same

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


SETTINGS: dict[str, str | None] = {"spark.sql.ansi.enabled": "false", "spark.sql.session.timeZone": "UTC"}
"""what Millrace sets in its sessions for tables, and a zone"""


def _configure(spark: SparkSession, settings: dict[str, str | None]) -> None:
    for name, value in settings.items():
        spark.conf.set(name, value) if value is not None else spark.conf.unset(name)


def examples() -> Iterator[Example]:
    """The examples of all test modules here."""
    for path in sorted(Path(__file__).parent.glob("test_*.py")):
        if path.name != Path(__file__).name:
            yield from getattr(importlib.import_module(f"tests.relational.functions.{path.stem}"), "EXAMPLES", ())


def test_spark_gives_what_the_columns_give(spark: SparkSession) -> None:
    """One query for all: a column an example, a row of values and one of NULLs. (The zone of the query is the
    session's, so examples for other zones are left to the columns.)"""
    columns: list[pa.Array] = []
    chosen: list[Example] = []
    texts: list[str] = []
    for example in examples():
        text = None if example.raises or example.zone != "UTC" else example.spark_text(len(columns))
        if text is not None:
            texts.append(f"{text} AS r{len(chosen)}")
            chosen.append(example)
            columns += columns_of(example)
    assert chosen, "no function has Spark text"
    table = pa.table(columns, names=[f"c{index}" for index in range(len(columns))])
    before = {name: spark.conf.get(name) for name in SETTINGS}
    try:
        _configure(spark, SETTINGS)
        result = spark.createDataFrame(table).selectExpr(*texts).toArrow()
    finally:
        _configure(spark, before)
    problems = [problem for example, column in zip(chosen, result.columns) for problem in _differences(example, column)]
    assert not problems, "\n".join(problems)


def _differences(example: Example, column: pa.ChunkedArray) -> Iterator[str]:
    free = [index for index in range(len(example.args)) if index not in example.constant]
    called = example.call(free)
    wanted = arrow_type(called.type)
    if column.type != wanted and not pa.types.is_nested(wanted):
        yield f"{example}: Spark gives {column.type}, not {wanted}"
        return
    found: list[Any] = to_python(column.combine_chunks().cast(wanted), called.type)
    if not example.agrees(found[0]):
        yield f"{example}: Spark gives {found[0]!r}, not {example.gives!r}"
    values = [value.value for value in example.values()]
    nulls = [None if index in free else value for index, value in enumerate(values)]
    ours = example.run(called, [nulls])
    if not same(found[1], ours[0], example.close):
        yield f"{example} of NULLs: Spark gives {found[1]!r}, the columns {ours[0]!r}"


def test_examples_say_where_their_expectation_comes_from() -> None:
    assert [str(example) for example in examples() if not example.source] == []
