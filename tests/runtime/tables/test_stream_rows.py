"""DataStreams as tables and back."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import Any

import pytest
from tests.runtime.tables.tabular import changes_of, rows_of

from millrace.common.time import Instant
from millrace.common.types import Row, RowKind
from millrace.relational.nodes import Field
from millrace.relational.types import BigIntType, LocalZonedTimestampType, TimestampType, string
from millrace.runtime.failure import OperatorError
from millrace.runtime.tables.stream_rows import FromElements, ToElements
from millrace.testing import OperatorHarness, Record, Watermark

COLUMNS = (Field("number", BigIntType()), Field("text", string()))
UTC = dt.timezone.utc


@dataclass
class Pair:
    text: str
    number: int


ELEMENTS = [(1, "a"), Row(1, "a"), Row(text="a", number=1), {"text": "a", "number": 1}, Pair("a", 1), [1, "a"]]


def rows(config: FromElements, *elements: tuple[Any, int | None]) -> list[Any]:
    with OperatorHarness(config.operator) as run:
        run.process_elements(elements)
        return [change for batch in run.values for change in changes_of(batch)]


@pytest.mark.parametrize("element", ELEMENTS, ids=str)
def test_elements_of_all_forms(element: Any) -> None:
    assert rows(FromElements(columns=COLUMNS), (element, None)) == [("+I", 1, "a")]


def test_elements_without_fields_and_timestamps() -> None:
    config = FromElements(columns=(Field("f0", string()),), single=True, timestamps=True)
    at = dt.datetime(1970, 1, 1, 0, 0, 5, tzinfo=UTC)
    assert rows(config, ("a", 5000), ("b", None)) == [("+I", "a", at), ("+I", "b", None)]


def test_instants() -> None:
    config = FromElements(columns=(Field("f0", LocalZonedTimestampType(3)),), single=True)
    assert rows(config, (Instant(5, 1_000_000), None)) == [("+I", dt.datetime(1970, 1, 1, 0, 0, 5, 1000, tzinfo=UTC))]


def test_kinds_count_in_a_changelog_only() -> None:
    elements = [(Row.of_kind(kind, 1, "a"), None) for kind in RowKind]
    assert [row[0] for row in rows(FromElements(columns=COLUMNS, changelog=True), *elements)] == [
        "+I",
        "-U",
        "+U",
        "-D",
    ]
    assert {row[0] for row in rows(FromElements(columns=COLUMNS), *elements)} == {"+I"}


def test_an_element_that_is_no_row() -> None:
    with pytest.raises(OperatorError, match="with the columns number, text cannot be made of 7"):
        rows(FromElements(columns=COLUMNS), (7, None))


def elements(config: ToElements, columns: Any, *changes: Any) -> list[Any]:
    with OperatorHarness(config.operator) as run:
        run.process_element(rows_of(changes, columns))
        run.process_watermark(9)
        assert run.output[-1] == Watermark(9)
        return run.records


def test_rows_become_elements_with_kinds() -> None:
    found = elements(ToElements(columns=COLUMNS), COLUMNS, ("+I", 1, "a"), ("-D", 1, "a"))
    assert [record.value for record in found] == [
        Row(number=1, text="a"),
        Row.of_kind(RowKind.DELETE, number=1, text="a"),
    ]


def test_event_time_becomes_the_timestamp() -> None:
    columns = (Field("number", BigIntType()), Field("at", TimestampType(3)))
    at = dt.datetime(1970, 1, 1, 0, 0, 5)
    found = elements(ToElements(columns=columns, time=1), columns, ("+I", 1, at))
    assert found == [Record(Row(number=1, at=at), 5000)]


def test_pairs() -> None:
    found = elements(ToElements(columns=COLUMNS, pairs=True), COLUMNS, ("+U", 1, "a"), ("-U", 1, "a"))
    assert [record.value for record in found] == [(True, Row(number=1, text="a")), (False, Row(number=1, text="a"))]


def test_changes_are_refused_where_only_insertions_go() -> None:
    with pytest.raises(OperatorError, match=r"use to_changelog_stream\(\)"):
        elements(ToElements(columns=COLUMNS, append_only=True), COLUMNS, ("-D", 1, "a"))
