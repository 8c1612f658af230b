"""``canal-json`` for tables: messages as Canal writes them."""

from __future__ import annotations

import datetime as dt
import json
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.formats.tables.driving import decode, decoded, encode, schema

from millrace.relational import types as t
from millrace.util.exceptions import TableException

PRODUCTS = schema(id=t.BigIntType(), name=t.string(), description=t.string(), weight=t.DecimalType(10, 2))
SCOOTER = {"id": "111", "name": "scooter", "description": "Big 2-wheel scooter", "weight": "5.18"}
NEW_ROW = (111, "scooter", "Big 2-wheel scooter", Decimal("5.18"))
OLD_ROW = (111, "scooter", "Big 2-wheel scooter", Decimal("5.15"))
SQL_TYPES = {"id": 4, "name": 12, "description": 12, "weight": 7}


def event(kind: str | None, data: Any, old: Any = None, **more: Any) -> str:
    message = {
        "data": data, "database": "inventory", "es": 1589373560000, "id": 9, "isDdl": False,
        "mysqlType": {"id": "INTEGER", "name": "VARCHAR(255)"}, "old": old, "pkNames": ["id"], "sql": "",
        "sqlType": SQL_TYPES, "table": "products", "ts": 1589373560798, "type": kind,
    }  # fmt: skip
    return json.dumps({**message, **more})


UPDATE = event("UPDATE", [SCOOTER], [{"weight": "5.15"}])


def test_the_update_of_the_documentation() -> None:
    assert decode("canal-json", PRODUCTS, [UPDATE]) == [("-U", OLD_ROW), ("+U", NEW_ROW)]


def test_every_type_of_message() -> None:
    ddl = event("CREATE", None, isDdl=True, sql="CREATE TABLE products (id INT)")
    other = {**SCOOTER, "id": "112"}
    messages = [ddl, event("INSERT", [SCOOTER, other]), None, UPDATE, b"", event("DELETE", [SCOOTER])]
    found = decoded("canal-json", PRODUCTS, messages)
    assert (found.messages.tolist(), found.skipped) == ([1, 1, 3, 3, 5], 0)
    assert decode("canal-json", PRODUCTS, messages) == [
        ("+I", NEW_ROW), ("+I", (112, *NEW_ROW[1:])), ("-U", OLD_ROW), ("+U", NEW_ROW), ("-D", NEW_ROW)
    ]  # fmt: skip


def test_a_null_in_old_was_null_and_what_is_missing_has_not_changed() -> None:
    columns = schema(id=t.IntType(), a=t.string(), b=t.string())
    data = [{"id": 1, "a": "x", "b": "y"}, {"id": 2, "a": None, "b": "z"}]
    message = event("UPDATE", data, [{"a": None}, {"a": "w"}])
    expected = [("-U", (1, None, "y")), ("+U", (1, "x", "y")), ("-U", (2, "w", "z")), ("+U", (2, None, "z"))]
    assert decode("canal-json", columns, [message]) == expected
    # Among messages without any null.
    plain = event("UPDATE", [{"id": 3, "a": "n", "b": "m"}], [{"b": "o"}])
    many = [plain] * 3 + [message] + [plain] * 300
    rows = [("-U", (3, "n", "o")), ("+U", (3, "n", "m"))]
    assert decode("canal-json", columns, many) == rows * 3 + expected + rows * 300


METADATA = {
    "database": "inventory",
    "table": "products",
    "pk-names": ["id"],
    "ingestion-timestamp": dt.datetime(2020, 5, 13, 12, 39, 20, 798_000, tzinfo=dt.timezone.utc),
    "event-timestamp": dt.datetime(2020, 5, 13, 12, 39, 20, tzinfo=dt.timezone.utc),
}


@pytest.mark.parametrize("more", [{}, {"sql-type": SQL_TYPES}], ids=["fields", "with the map"])
def test_metadata(more: dict[str, Any]) -> None:
    wanted = {**METADATA, **more}
    found = decode("canal-json", schema(id=t.IntType()), [UPDATE], None, list(wanted))
    assert [(kind, row[0]) for kind, row in found] == [("-U", 111), ("+U", 111)]
    assert [dict(zip(wanted, row[1:])) for _, row in found] == [wanted] * 2


@pytest.mark.parametrize(
    ("options", "numbers"),
    [
        ({"database.include": "inv.*"}, [0, 1]),
        ({"table.include": "^prod|orders"}, [1, 2]),
        ({"table.include": "prod.*|orders"}, [0, 1, 2]),
        ({"database.include": "inventory", "table.include": "products"}, [0]),
        ({"database.include": "nothing"}, []),
    ],
)
def test_some_tables(options: dict[str, str], numbers: list[int]) -> None:
    # The other tables have other columns: they must not be looked at.
    messages = [
        event("INSERT", [SCOOTER]),
        event("INSERT", [{**SCOOTER, "id": "o1"}], table="orders"),
        event("INSERT", [{**SCOOTER, "id": "o2"}], database="other", table="orders"),
    ]
    columns = schema(id=t.string())
    assert decoded("canal-json", columns, messages, options).messages.tolist() == numbers
    if 1 not in numbers:
        assert decode("canal-json", PRODUCTS, messages, options) == [("+I", NEW_ROW)][: len(numbers)]


def test_numbers_of_malformed_messages_count_those_that_are_filtered() -> None:
    messages = [event("INSERT", [{"id": "x"}], table="orders"), None, UPDATE, event("INSERT", [{"id": "x"}])]
    with pytest.raises(ValueError, match="message 3 is malformed: field 'data': field 'id': not an integer"):
        decode("canal-json", schema(id=t.IntType()), messages, {"table.include": "products"})


def test_filtered_messages_without_place_are_malformed() -> None:
    messages = ['{"type":"INSERT","data":[{"id":1}]}', event("INSERT", [{"id": 2}])]
    with pytest.raises(ValueError, match="message 0 is malformed: there is no field 'table'"):
        decode("canal-json", schema(id=t.IntType()), messages, {"table.include": ".*"})
    found = decoded(
        "canal-json", schema(id=t.IntType()), messages, {"table.include": ".*", "ignore-parse-errors": "true"}
    )
    assert (found.messages.tolist(), found.skipped) == ([1], 1)


BAD = [
    (event("UPDATE", [SCOOTER]), 'the "old" field of a UPDATE message is null, or has other rows than "data"'),
    (event("UPDATE", [SCOOTER], []), "has other rows"),
    (event("UPDATE", [SCOOTER], [None]), 'the "old" field of a UPDATE message is null'),
    (event("INSERT", None), 'the "data" field of a INSERT message is null'),
    (event("DELETE", None), 'the "data" field of a DELETE message is null'),
    (event("INSERT", [None]), 'the "data" field of a INSERT message is null'),
    (event("TRUNCATE", None), "unknown \"type\" value 'TRUNCATE'"),
    (event(None, [SCOOTER]), 'unknown "type" value None'),
    ("{", "is malformed"),
    (event("INSERT", SCOOTER), "field 'data': a JSON array is needed"),
]


@pytest.mark.parametrize(("message", "text"), BAD)
def test_malformed_messages(message: str, text: str) -> None:
    messages = [UPDATE, message, event("DELETE", [SCOOTER])]
    with pytest.raises(ValueError, match=f"table shop: message 1 .*{text}"):
        decode("canal-json", PRODUCTS, messages)
    assert decoded("canal-json", PRODUCTS, messages, {"ignore-parse-errors": "true"}).skipped == 1
    assert decode("canal-json", PRODUCTS, messages, {"ignore-parse-errors": "true"}) == [
        ("-U", OLD_ROW), ("+U", NEW_ROW), ("-D", NEW_ROW)
    ]  # fmt: skip


def test_written_messages() -> None:
    row = '{"id":111,"name":"scooter","description":"Big 2-wheel scooter","weight":5.18}'
    assert encode("canal-json", PRODUCTS, [NEW_ROW] * 4, None, ["+I", "-U", "+U", "-D"]) == [
        f'{{"data":[{row}],"type":"{kind}"}}'.encode() for kind in ("INSERT", "DELETE", "INSERT", "DELETE")
    ]


def test_a_pattern_that_is_none() -> None:
    with pytest.raises(TableException, match=r"'canal-json.table.include' is '\(', but has to be a regular expression"):
        decode("canal-json", PRODUCTS, [], {"table.include": "("})


FIELDS = st.fixed_dictionaries({}, optional={"a": st.none() | st.integers(0, 9), "b": st.none() | st.text(max_size=3)})


@given(
    st.lists(st.tuples(st.sampled_from(["INSERT", "UPDATE", "DELETE", "CREATE"]), st.lists(st.tuples(FIELDS, FIELDS))))
)
def test_any_events(events: list[tuple[str, list[tuple[dict[str, Any], dict[str, Any]]]]]) -> None:
    messages, expected = [], []
    for kind, rows in events:
        messages.append(event(kind, [new for new, _ in rows], [old for _, old in rows]))
        for new, old in rows:
            after = (new.get("a"), new.get("b"))
            before = tuple(old[name] if name in old else new.get(name) for name in "ab")
            update = [("-U", before), ("+U", after)]
            expected += {"INSERT": [("+I", after)], "UPDATE": update, "DELETE": [("-D", after)], "CREATE": []}[kind]
    assert decode("canal-json", schema(a=t.IntType(), b=t.string()), messages) == expected
