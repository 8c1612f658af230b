"""Rows of tables survive their way through a file, whatever their columns are."""

from __future__ import annotations

import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from millrace.relational.rows import Rows, record_batch
from millrace.testing.recording.events import Element, EventWriter, Mark, Place, RecordingError, Sign, read_events

COLUMNS: list[tuple[pa.DataType, list[Any]]] = [
    (pa.int8(), [1, None]),
    (pa.int64(), [-(2**63), 2**63 - 1]),
    (pa.float32(), [0.1, float("inf")]),
    (pa.float64(), [-0.0, 1e300]),
    (pa.bool_(), [True, None]),
    (pa.string(), ["", "ü\n\u2028"]),
    (pa.binary(), [b"", b"\x00\xff"]),
    (pa.decimal128(38, 18), [Decimal("-1.000000000000000001"), None]),
    (pa.date32(), [datetime.date(1, 1, 1), datetime.date(9999, 12, 31)]),
    (pa.time64("us"), [datetime.time(23, 59, 59, 999_999), None]),
    (pa.timestamp("us"), [datetime.datetime(1900, 1, 1, 0, 0, 0, 1), None]),
    (pa.timestamp("ns"), [1, 1_700_000_000_123_456_789]),
    (pa.timestamp("us", "UTC"), [datetime.datetime(2026, 1, 1, tzinfo=datetime.timezone.utc), None]),
    (pa.list_(pa.int32()), [[], [1, None]]),
    (pa.map_(pa.string(), pa.int32()), [[("a", 1), ("b", None)], None]),
    (pa.struct([("a", pa.int32()), ("$b", pa.list_(pa.decimal128(3, 1)))]), [{"a": 1, "$b": [Decimal("1.5")]}, None]),
    (pa.null(), [None, None]),
]


def back(path: Path) -> list[Any]:
    return list(read_events(path))


@pytest.mark.parametrize(("kind", "values"), COLUMNS, ids=lambda each: str(each)[:20])
def test_columns_come_back(tmp_path: Path, kind: pa.DataType, values: list[Any]) -> None:
    column = pa.array(values, kind)
    rows = Rows(record_batch([column], 2), np.array([0, 3], np.uint8))
    EventWriter(str(tmp_path / "file")).write([Element(Place(1, "a"), rows, 5)])
    found = back(tmp_path / "file")
    assert [(each.place, each.timestamp, len(each.value)) for each in found] == [(Place(1, "a"), 5, 1)] * 2
    assert pa.concat_arrays([each.value.columns[0] for each in found]).equals(column)
    assert [each.value.kind_values().tolist() for each in found] == [[0], [3]]


def test_columns_may_change_on_the_way(tmp_path: Path) -> None:
    writer = EventWriter(str(tmp_path / "file"))
    first, second = Rows(record_batch([pa.array([1])], 1)), Rows(record_batch([pa.array(["a"]), pa.array([2])], 1))
    writer.write([Element(Place(0), first), Mark(Place(0), 7)])
    writer.write([Element(Place(0), second), Sign(Place(0), "idle")])
    one, mark, two, sign = back(tmp_path / "file")
    assert one.value.batch.equals(first.batch) and two.value.batch.equals(second.batch)
    assert (mark, sign) == (Mark(Place(0), 7), Sign(Place(0), "idle"))


@pytest.mark.parametrize(
    "line",
    ["{", "{}", '{"task": 0, "row": [1]}', '{"task": 0, "value": {"$pickle": "gASVAAAA"}}', '{"schema": "AAAA"}'],
)
def test_a_damaged_file_is_named(tmp_path: Path, line: str) -> None:
    (tmp_path / "file").write_text(line + "\n")
    with pytest.raises(RecordingError):
        back(tmp_path / "file")
