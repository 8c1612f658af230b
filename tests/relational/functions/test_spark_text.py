"""Spark computes the same as the columns do, for every example of a function that has Spark text."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from tests.relational.functions.examples import Example, columns_of, same

from millrace.relational.type_table import arrow_type
from millrace.relational.values import to_python

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


SETTINGS: dict[str, str | None] = {"spark.sql.ansi.enabled": "false", "spark.sql.session.timeZone": "UTC"}
"""what Millrace sets in its sessions for tables, and a zone"""


def _configure(spark: SparkSession, settings: dict[str, str | None]) -> None:
    for name, value in settings.items():
        spark.conf.set(name, value) if value is not None else spark.conf.unset(name)


def examples() -> Iterator[Example]:
    """The examples of all test modules here."""
    here = Path(__file__).parent
    for path in sorted(here.rglob("test_*.py")):
        if path != Path(__file__):
            name = ".".join(path.relative_to(here).with_suffix("").parts)
            yield from getattr(importlib.import_module(f"tests.relational.functions.{name}"), "EXAMPLES", ())


@pytest.fixture
def session(spark: SparkSession) -> Iterator[SparkSession]:
    """The session with the settings of tables."""
    before = {name: spark.conf.get(name) for name in SETTINGS}
    _configure(spark, SETTINGS)
    yield spark
    _configure(spark, before)


def _with_text(raising: bool) -> Iterator[tuple[Example, str, list[pa.Array]]]:
    """Examples that Spark computes, their texts and arguments; all over the columns of one table. (The zone of the
    query is the session's, so examples for other zones are left to the columns.)"""
    start = 0
    for example in examples():
        if bool(example.raises) == raising and example.zone == "UTC":
            text = example.spark_text(start)
            if text is not None:
                columns = columns_of(example)
                start += len(columns)
                yield example, text, columns


def _frame(session: SparkSession, columns: Sequence[list[pa.Array]]) -> DataFrame:
    """All arguments as columns c0, c1, ... (Spark takes timestamps without zone for those with one unless told.)"""
    flat = [column for each in columns for column in each]
    table = pa.table(flat, names=[f"c{index}" for index in range(len(flat))])
    plain = {field.name for field in table.schema if field.type == pa.timestamp("us")}
    names = [f"CAST({name} AS TIMESTAMP_NTZ) AS {name}" if name in plain else name for name in table.column_names]
    return session.createDataFrame(table).selectExpr(*names)


def test_spark_gives_what_the_columns_give(session: SparkSession) -> None:
    """One query for all: a column an example, a row of values and one of NULLs."""
    chosen, texts, columns = zip(*_with_text(raising=False))
    named = [f"{text} AS r{index}" for index, text in enumerate(texts)]
    result = _frame(session, columns).selectExpr(*named).toArrow()
    problems = [problem for example, column in zip(chosen, result.columns) for problem in _differences(example, column)]
    assert not problems, "\n".join(problems)


def test_spark_fails_where_the_columns_fail(session: SparkSession) -> None:
    from pyspark.errors import PySparkException

    chosen, texts, columns = zip(*_with_text(raising=True))
    frame = _frame(session, columns).limit(1)
    passed = []
    for example, text in zip(chosen, texts):
        try:
            frame.selectExpr(text).toArrow()
            passed.append(str(example))
        except PySparkException:
            pass
    assert passed == []


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
