"""The table of types: every type has its row, and a new one needs no more than that."""

from __future__ import annotations

import datetime as dt
import decimal
from collections.abc import Iterator

import pyarrow as pa
import pytest

from millrace.common.types import Row
from millrace.connectors.tables.datagen_table import generator
from millrace.connectors.tables.print_table import row_text
from millrace.formats.csv_fields import TABLES, FieldReaders
from millrace.formats.csv_texts import csv_texts
from millrace.formats.tables.avro_format import avro_columns, avro_schema
from millrace.formats.tables.json_format import JsonTexts
from millrace.formats.tables.json_reading import JsonValues
from millrace.formats.text_columns import SQL, NoForm
from millrace.relational import type_table
from millrace.relational import types as t
from millrace.relational.functions.cast_values import caster
from millrace.relational.functions.registry import common_type
from millrace.relational.nodes import Field
from millrace.relational.type_table import ROWS, Family, TypeRow, arrow_type, family_of, parts_of, row_of, type_parts
from millrace.relational.values import to_arrow, to_python
from millrace.table.sql.binding.insert import fits
from millrace.table.values.printed_tables import row_texts

ABSTRACT: set[type[t.DataType]] = {
    t.AtomicType, t.NumericType, t.IntegralType, t.FractionalType, t._Sized, t._Precise, t.DescriptorType,
    t.ZonedTimestampType,
}  # fmt: skip
"""bases, and what can only be named"""


def _classes(base: type[t.DataType]) -> Iterator[type[t.DataType]]:
    for each in base.__subclasses__():
        if each.__module__ == t.__name__:
            yield each
            yield from _classes(each)


def test_every_type_has_a_row() -> None:
    assert set(_classes(t.DataType)) - ABSTRACT == set(ROWS) - {t.DataType}


@pytest.mark.parametrize("kind", sorted(ABSTRACT, key=str))
def test_what_has_no_row_can_be_named_only(kind: type[t.DataType]) -> None:
    assert next(ROWS[each] for each in kind.__mro__ if each in ROWS).family is Family.NAMED


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (t.BooleanType(), True),
        (t.TinyIntType(), 1),
        (t.BigIntType(), 1),
        (t.DoubleType(), 1.5),
        (t.DecimalType(4, 2), decimal.Decimal("1.50")),
        (t.string(), "a"),
        (t.VarBinaryType(3), b"a"),
        (t.DateType(), dt.date(2024, 5, 6)),
        (t.TimeType(), dt.time(1, 2, 3)),
        (t.TimestampType(), dt.datetime(2024, 5, 6, 1, 2)),
        (t.LocalZonedTimestampType(), dt.datetime(2024, 5, 6, 1, 2, tzinfo=dt.timezone.utc)),
        (t.YearMonthIntervalType(t.YearMonthIntervalType.YearMonthResolution.YEAR), 12),
        (t.DayTimeIntervalType(t.DayTimeIntervalType.DayTimeResolution.DAY), dt.timedelta(days=1)),
        (t.ArrayType(t.IntType()), [1]),
        (t.MapType(t.string(), t.IntType()), {"a": 1}),
        (t.MultisetType(t.string()), {"a": 2}),
        (t.RowType([t.RowField("a", t.IntType())]), Row(a=1)),
    ],
    ids=str,
)
def test_python_class_is_that_of_what_comes_back(kind: t.DataType, value: object) -> None:
    (found,) = to_python(to_arrow([value], kind), kind)
    assert found == value
    assert type(found) is row_of(kind).python


def test_parts() -> None:
    row = t.RowType([t.RowField("a", t.MultisetType(t.ArrayType(t.DateType())))])
    assert parts_of(row) == (t.MultisetType(t.ArrayType(t.DateType())),)
    assert [family_of(part) for part in type_parts(row)] == [
        Family.ROW, Family.MAP, Family.ARRAY, Family.DATE, Family.INTEGER,
    ]  # fmt: skip


class UuidType(t.AtomicType):
    """What the recipe of CONTRIBUTING.md makes: values are text of 36 characters."""

    length = 36


class ComplexType(t.AtomicType):
    """Has a row, but a family that no format has."""


@pytest.fixture
def new_types(monkeypatch: pytest.MonkeyPatch) -> None:
    rows: dict[type[t.DataType], TypeRow] = {
        UuidType: TypeRow(Family.TEXT, str, pa.string(), avro="string"),
        ComplexType: TypeRow(Family.BITMAP, bytes, pa.binary()),
    }
    monkeypatch.setattr(type_table, "ROWS", {**ROWS, **rows})


ONE = "123e4567-e89b-12d3-a456-426614174000"


@pytest.mark.usefixtures("new_types")
class TestNewType:
    """A class and a row, and everything below knows the type."""

    kind = UuidType()

    def test_arrow_and_python(self) -> None:
        assert arrow_type(t.ArrayType(self.kind)) == pa.list_(pa.string())
        assert to_python(to_arrow([ONE, None], self.kind), self.kind) == [ONE, None]

    def test_sql_text(self) -> None:
        assert str(self.kind.not_null()) == "UUID NOT NULL"

    def test_json(self) -> None:
        written = JsonTexts(SQL).objects([("id", pa.array([ONE, None]), self.kind)], 2)
        assert written.to_pylist() == [f'{{"id":"{ONE}"}}', '{"id":null}']
        (read,) = JsonValues([("id", self.kind)], SQL, False, False).columns([{"id": ONE}, {}])
        assert read.to_pylist() == [ONE, None]

    def test_csv(self) -> None:
        assert csv_texts(pa.array([ONE]), self.kind, "", ";", False).to_pylist() == [ONE]
        array = FieldReaders(TABLES, None, ";").of(t.ArrayType(self.kind))
        assert array.read(pa.array([f"{ONE};{ONE}"])).to_pylist() == [[ONE, ONE]]

    def test_avro(self) -> None:
        columns = (Field("id", t.MapType(self.kind, self.kind).not_null()),)
        (field,) = avro_schema(columns)["fields"]
        assert field["type"] == {"type": "map", "values": ["null", "string"]}
        assert avro_columns([{"id": {ONE: None}}], columns)[0].to_pylist() == [[(ONE, None)]]

    def test_texts(self) -> None:
        assert row_text([self.kind])(Row(ONE)) == f"+I[{ONE}]"
        assert row_texts([self.kind], "UTC")([ONE]) == [ONE]

    def test_generator(self) -> None:
        made = generator(self.kind, {}, "table x").column(0, 5, (1,))
        assert [len(each) for each in made.to_pylist()] == [36] * 5

    def test_what_a_format_does_not_have_is_refused_there(self) -> None:
        with pytest.raises(NoForm, match="values of COMPLEX have no form in JSON"):
            JsonValues([("c", ComplexType())], SQL, False, False)
        with pytest.raises(NoForm, match="values of COMPLEX have no form in Avro"):
            avro_schema((Field("c", ComplexType()),))

    def test_casts_and_common_types(self) -> None:
        for value in (ONE, f"{ONE} and more"):
            assert caster(t.string(), self.kind)(value) == ONE  # type: ignore[misc]
        assert caster(self.kind, t.string())(ONE) == ONE  # type: ignore[misc]
        assert common_type([self.kind, t.CharType(40)]) == t.VarCharType(40)
        assert fits(t.string(), self.kind)
        assert not fits(t.IntType(), self.kind)
