"""Collected rows are PyFlink's: by position, and here by name, too."""

from __future__ import annotations

import copy
import pickle

import pytest

from millrace.common.types import Row, RowKind
from millrace.relational import types as t
from millrace.relational.rex import Field
from millrace.relational.rows import Rows, collected_rows, record_batch
from millrace.relational.values import to_arrow

INNER = t.RowType([t.RowField("f", t.FloatType()), t.RowField("n", t.IntType())])
COLUMNS = (
    Field("id", t.BigIntType()),
    Field("inner", INNER),
    Field("many", t.ArrayType(INNER)),
    Field("by", t.MapType(t.VarCharType(5), t.FloatType())),
    Field("f", t.FloatType()),
)


def one() -> Row:
    values = [7, Row(f=1.1, n=2), [Row(f=2.3333332538604736, n=3), None], {"a": 0.1}, 1.1]
    columns = [to_arrow([value], column.type) for value, column in zip(values, COLUMNS)]
    (row,) = collected_rows(Rows(record_batch(columns, 1)), COLUMNS)
    return row


def test_they_compare_and_print_by_position() -> None:
    row = one()
    assert row == Row(7, Row(1.1, 2), [Row(2.3333333, 3), None], {"a": 0.1}, 1.1)
    assert Row(7, Row(1.1, 2), [Row(2.3333333, 3), None], {"a": 0.1}, 1.1) == row
    assert str(row) == "<Row(7, <Row(1.1, 2)>, [<Row(2.3333333, 3)>, None], {'a': 0.1}, 1.1)>"
    assert row[1] != Row(f=1.1, n=2)
    assert row[1] != Row.of_kind(RowKind.DELETE, 1.1, 2)
    assert hash(row[1]) == hash(Row(1.1, 2))
    assert 7 in row


def test_they_know_their_names() -> None:
    row = one()
    assert (row.id, row["id"], row.inner.n, row["inner"]["n"]) == (7, 7, 2, 2)
    assert row.inner.as_dict() == {"f": 1.1, "n": 2}
    with pytest.raises(AttributeError):
        row.nothing  # noqa: B018
    with pytest.raises(ValueError, match="its fields are id, inner, many, by, f"):
        row["nothing"]
    row["id"] = 8
    assert row[0] == 8


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda row: pickle.loads(pickle.dumps(row))])
def test_copies_are_the_same(again) -> None:  # type: ignore[no-untyped-def]
    row = one()
    assert again(row) == row
    assert again(row).id == 7


def test_with_names_it_is_a_row_with_names() -> None:
    inner = one().inner
    inner.set_field_names(["x", "y"])
    assert inner == Row(x=1.1, y=2)
    assert (inner.x, str(inner)) == (1.1, "Row(x=1.1, y=2)")
