"""Messages of changes, read back by the formats of tables, which know nothing of pipelines."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from millrace.cdc.change_text import ChangeTexts
from millrace.cdc.elements import Batch
from millrace.connectors.cdc.events import Column, TableId, TableSchema
from millrace.formats.tables.format_options import format_factory
from millrace.relational.rex import Field
from millrace.relational.rows import DELETE, INSERT, UPDATE_AFTER, UPDATE_BEFORE, Rows, record_batch
from millrace.relational.sources import FormatContext
from millrace.relational.values import to_arrow, to_python
from millrace.table.sql.grammar.parser import parse_type

COLUMNS = {"id": "INT NOT NULL", "n": "DECIMAL(12, 3)", "t": "STRING", "at": "TIMESTAMP(6)", "ok": "BOOLEAN",
           "d": "DOUBLE", "b": "BYTES", "l": "ARRAY<INT>"}  # fmt: skip
SCHEMA = TableSchema(tuple(Column(name, parse_type(kind)) for name, kind in COLUMNS.items()), ("id",))


def rows_of(*rows: tuple[int, str]) -> Batch:
    """:param rows: kind and text each; the id is the length of the text."""
    import datetime as dt
    from decimal import Decimal

    values = [
        (
            len(text), Decimal("1.5"), text, dt.datetime(2024, 5, 6, 7, 8, 9, 123456), True, 0.1, b"\x00\xff",
            [1, None],
        )
        for _, text in rows
    ]  # fmt: skip
    columns = [to_arrow(list(column), kind) for column, kind in zip(zip(*values), SCHEMA.types)]
    kinds = np.array([kind for kind, _ in rows], np.uint8)
    return Batch(TableId("", "app", 'o"rders'), SCHEMA, Rows(record_batch(columns, len(rows)), kinds))


CHANGES = rows_of(
    (INSERT, 'a"\n'), (UPDATE_BEFORE, "bb"), (UPDATE_AFTER, "cc"), (DELETE, "d"), (UPDATE_BEFORE, "ee"),
    (UPDATE_AFTER, "eee"),
)  # fmt: skip


@pytest.mark.parametrize("form", ["debezium-json", "canal-json"])
def test_formats_of_tables_read_them(form: str) -> None:
    messages = [text for _, text in ChangeTexts(form).of(CHANGES)]
    fields = tuple(Field(column.name, column.type) for column in SCHEMA.columns)
    context = FormatContext("t", fields, {"timestamp-format.standard": "SQL"})
    decoded = format_factory(form, "t").decoding(context).decode(pa.array([text.encode() for text in messages]))
    assert decoded.skipped == 0
    got = list(zip(decoded.rows.kind_values().tolist(), _values(decoded.rows)))
    kinds = CHANGES.rows.kind_values().tolist()
    expected = list(zip([*kinds[:4], DELETE, INSERT], _values(CHANGES.rows)))
    assert got == expected


def _values(rows: Rows) -> list[Any]:
    return list(zip(*(to_python(column, kind) for column, kind in zip(rows.columns, SCHEMA.types))))


def test_what_debezium_says_beside_the_rows() -> None:
    found = [json.loads(text) for _, text in ChangeTexts("debezium-json").of(CHANGES)]
    assert [each["op"] for each in found] == ["c", "u", "d", "d", "c"]
    assert found[0]["source"] == {"db": "app", "table": 'o"rders'} and found[0]["before"] is None


def test_what_canal_says_beside_the_rows() -> None:
    found = [json.loads(text) for _, text in ChangeTexts("canal-json").of(CHANGES)]
    assert [each["type"] for each in found] == ["INSERT", "UPDATE", "DELETE", "DELETE", "INSERT"]
    assert found[1]["old"][0]["t"] == "bb" and found[1]["data"][0]["t"] == "cc"
    assert {(each["database"], each["table"], *each["pkNames"]) for each in found} == {("app", 'o"rders', "id")}


def test_old_rows_of_which_only_the_key_is_known() -> None:
    batch = Batch(CHANGES.table, SCHEMA, CHANGES.rows, keys_only=True)
    found = [json.loads(text) for _, text in ChangeTexts("debezium-json").of(batch)]
    assert [(each["op"], each["before"] is None) for each in found][1] == ("u", True)


def test_messages_with_their_schema() -> None:
    (_, text), *_ = ChangeTexts("debezium-json", schemas=True).of(CHANGES)
    found = json.loads(text)
    before, after = found["schema"]["fields"]
    assert (before["field"], after["field"]) == ("before", "after")
    kinds = {each["field"]: (each["type"], each["optional"]) for each in after["fields"]}
    assert kinds["id"] == ("int32", False) and kinds["d"] == ("double", True) and kinds["t"] == ("string", True)
    assert found["payload"]["after"]["id"] == 3
