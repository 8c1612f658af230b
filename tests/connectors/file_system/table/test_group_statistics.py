"""Row groups that need not be read, against all their rows."""

from __future__ import annotations

import datetime as dt
import operator
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from millrace.connectors.file_system.table.bulk_formats import may_match
from millrace.relational.nodes import Field
from millrace.relational.rex import Call, Literal, Ref
from millrace.table import DataTypes as D

AT = dt.datetime(2024, 5, 6)
COLUMNS = (
    Field("n", D.INT()),
    Field("s", D.STRING()),
    Field("d", D.DATE()),
    Field("t", D.TIMESTAMP(3)),
    Field("f", D.DOUBLE()),
)
ROWS = [
    [(1, "a", AT.date(), AT, 1.0), (4, "c", AT.date(), AT + dt.timedelta(1), float("nan"))],
    [(6, "d", dt.date(2024, 6, 1), AT + dt.timedelta(9), 2.0), (None, None, None, None, None)],
    [(None, None, None, None, None)],
]
COMPARISONS = {"=": operator.eq, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}
CONSTANTS = [(0, [0, 1, 3, 4, 5, 6, 9]), (1, ["", "b", "d", "z"]), (2, [dt.date(2024, 5, 6), dt.date(2024, 7, 1)]),
             (3, [AT, AT + dt.timedelta(5)]), (4, [0.0, 1.5, 3.0])]  # fmt: skip


@pytest.fixture(scope="module")
def metadata(tmp_path_factory: pytest.TempPathFactory) -> Any:
    path = tmp_path_factory.mktemp("groups") / "file"
    schema = pa.schema([("n", pa.int32()), ("s", pa.string()), ("d", pa.date32()), ("t", pa.timestamp("us")),
                        ("f", pa.float64())])  # fmt: skip
    with pq.ParquetWriter(path, schema) as writer:
        for group in ROWS:
            writer.write_table(pa.Table.from_pylist([dict(zip(schema.names, row)) for row in group], schema))
    return pq.ParquetFile(path).metadata


@pytest.mark.parametrize("mirrored", [False, True])
@pytest.mark.parametrize("name", COMPARISONS)
@pytest.mark.parametrize(("place", "constants"), CONSTANTS)
def test_no_row_is_lost(metadata: Any, place: int, constants: list[Any], name: str, mirrored: bool) -> None:
    skipped = 0
    for constant in constants:
        ref, value = Ref(COLUMNS[place].type, place), Literal(COLUMNS[place].type, constant)
        condition = Call(D.BOOLEAN(), name, (value, ref) if mirrored else (ref, value))
        for number, group in enumerate(ROWS):
            values = [row[place] for row in group if row[place] is not None]
            passes = any(COMPARISONS[name](*((constant, each) if mirrored else (each, constant))) for each in values)
            may = may_match(metadata.row_group(number), [condition], COLUMNS)
            assert may or not passes
            skipped += not may
    assert skipped or place == 4  # NaN has no place among the smallest and largest


def test_what_is_not_understood_is_read(metadata: Any) -> None:
    is_null = Call(D.BOOLEAN(), "IS NULL", (Ref(D.INT(), 0),))
    wrong_type = Call(D.BOOLEAN(), "=", (Ref(D.STRING(), 0), Literal(D.STRING(), "x")))
    columns = (Field("n", D.STRING()), Field("gone", D.INT()))
    gone = Call(D.BOOLEAN(), "=", (Ref(D.INT(), 1), Literal(D.INT(), 99)))
    for condition in (is_null, wrong_type, gone):
        assert may_match(metadata.row_group(0), [condition], columns)
