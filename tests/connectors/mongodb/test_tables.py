"""Tables of collections: written, read, looked up. What is in them is asked of the server by its own client."""

from __future__ import annotations

import datetime as dt
import random

import bson
import pytest
from tests.connectors.mongodb.conftest import Collections
from tests.connectors.stores.store_tables import StoreTables

from millrace.util.exceptions import TableException

pytestmark = pytest.mark.services
UTC = dt.timezone.utc

TYPES = {
    "b BOOLEAN": ("TRUE", True, True),
    "t TINYINT": ("CAST(-128 AS TINYINT)", -128, -128),
    "s SMALLINT": ("CAST(32767 AS SMALLINT)", 32767, 32767),
    "i INT": ("2147483647", 2147483647, 2147483647),
    "g BIGINT": ("9223372036854775807", bson.Int64(2**63 - 1), 2**63 - 1),
    "f FLOAT": ("CAST(1.5 AS FLOAT)", 1.5, 1.5),
    "d DOUBLE": ("CAST(-1.25E300 AS DOUBLE)", -1.25e300, -1.25e300),
    "n DECIMAL(30, 2)": (
        "CAST(-12345678901234567890.12 AS DECIMAL(30, 2))",
        bson.Decimal128("-12345678901234567890.12"),
        float("-12345678901234567890.12"),
    ),
    "v STRING": ("'ä€😀 $x.y'", "ä€😀 $x.y", "ä€😀 $x.y"),
    "y BYTES": ("x'00ff10'", b"\x00\xff\x10", b"\x00\xff\x10"),
    "e DATE": ("DATE '1969-12-31'", dt.datetime(1969, 12, 31, tzinfo=UTC), dt.date(1969, 12, 31)),
    "m TIMESTAMP(3)": (
        "TIMESTAMP '1500-01-01 00:00:00.001'",
        dt.datetime(1500, 1, 1, 0, 0, 0, 1000, tzinfo=UTC),
        dt.datetime(1500, 1, 1, 0, 0, 0, 1000),
    ),
    "z TIMESTAMP_LTZ(3)": (
        "TO_TIMESTAMP_LTZ(1001, 3)",
        dt.datetime(1970, 1, 1, 0, 0, 1, 1000, tzinfo=UTC),
        dt.datetime(1970, 1, 1, 0, 0, 1, 1000, tzinfo=UTC),
    ),
    "a ARRAY<INT>": ("ARRAY[1, 2]", [1, 2], (1, 2)),
    "p MAP<STRING, BIGINT>": ("MAP['k', CAST(5 AS BIGINT)]", {"k": bson.Int64(5)}, frozenset({("k", 5)})),
    "r ROW<x INT, l ARRAY<STRING>>": ("ROW(7, ARRAY['q'])", {"x": 7, "l": ["q"]}, (7, ("q",))),
}


def test_values_come_back(tables: StoreTables, collections: Collections) -> None:
    for key in ("", ", PRIMARY KEY (_id) NOT ENFORCED"):
        name = collections.create()
        table = tables.over("mongodb", f"_id INT, {', '.join(TYPES)}{key}", collections.options(name))
        tables.insert(f"INSERT INTO {table} VALUES (1, {', '.join(made for made, _, _ in TYPES.values())})")
        nulls = ", ".join(f"CAST(NULL AS {kind.partition(' ')[2]})" for kind in TYPES)
        tables.insert(f"INSERT INTO {table} VALUES (2, {nulls})")
        client = collections.client.get_database("shop", bson.CodecOptions(tz_aware=True))
        stored = client[name].find_one({"_id": 1})
        for column, (_, there, _) in TYPES.items():
            value = stored[column.partition(" ")[0]]
            assert (type(value), value) == (type(there), there), column
        assert set(client[name].find_one({"_id": 2}).values()) == {2, None}
        whole, empty = tables.rows(f"SELECT * FROM {table}")
        for (column, (_, _, here)), value in zip(TYPES.items(), whole[1:]):
            assert value == here, column
        assert set(empty[1:]) == {None}
        texts = tables.rows(f"SELECT CAST(n AS STRING) FROM {table} WHERE n IS NOT NULL")
        assert texts == [("-12345678901234567890.12",)]


def test_changes_leave_what_a_dictionary_would_have(tables: StoreTables, collections: Collections) -> None:
    name = collections.create()
    columns = "k BIGINT, n BIGINT, total BIGINT, PRIMARY KEY (k) NOT ENFORCED"
    table = tables.over("mongodb", columns, collections.options(name, sink__buffer_flush__max_rows="7"))
    dice = random.Random(7)
    rows = [(dice.randrange(40), dice.randrange(-9, 10)) for _ in range(300)]
    values = ", ".join(f"({key}, {value})" for key, value in rows)
    grouped = f"SELECT k, COUNT(*), SUM(v) FROM (VALUES {values}) AS t(k, v) GROUP BY k HAVING SUM(v) >= 0"
    tables.insert(f"INSERT INTO {table} {grouped}")
    wanted: dict[int, list[int]] = {}
    for key, value in rows:
        wanted.setdefault(key, []).append(value)
    expected = [(key, key, len(each), sum(each)) for key, each in sorted(wanted.items()) if sum(each) >= 0]
    found = sorted((each["_id"], each["k"], each["n"], each["total"]) for each in collections.all(name))
    assert found == expected


def test_keys_of_documents(tables: StoreTables, collections: Collections) -> None:
    oid = "5f1d7f1d7f1d7f1d7f1d7f1d"
    name = collections.create({"_id": bson.ObjectId(oid), "v": 1, "other": "kept"})
    table = tables.over("mongodb", "_id STRING, v INT, PRIMARY KEY (_id) NOT ENFORCED", collections.options(name))
    tables.insert(f"INSERT INTO {table} VALUES ('{oid}', 2), ('plain', 3)")
    assert collections.all(name) == [
        {"_id": "plain", "v": 3},
        {"_id": bson.ObjectId(oid), "v": 2, "other": "kept"},
    ]
    assert tables.rows(f"SELECT v FROM {table} WHERE _id = '{oid}'") == [(2,)]
    assert tables.joined(f"('{oid}'), ('no')", table, "r._id = l.k", "l.k, r.v") == [(oid, 2), ("no", None)]
    both = tables.over("mongodb", "a INT, b STRING, v INT, PRIMARY KEY (b, a) NOT ENFORCED", collections.options("two"))
    tables.insert(f"INSERT INTO {both} VALUES (1, 'x', 10), (1, 'x', 11), (2, 'x', 12)")
    found = {tuple(each["_id"].items()): each["v"] for each in collections.all("two")}
    assert found == {(("b", "x"), ("a", 1)): 11, (("b", "x"), ("a", 2)): 12}
    only = tables.over("mongodb", "_id INT, PRIMARY KEY (_id) NOT ENFORCED", collections.options("only"))
    tables.insert(f"INSERT INTO {only} VALUES (1), (2), (1)")
    assert collections.all("only") == [{"_id": 1}, {"_id": 2}]


def test_shard_keys_are_part_of_what_is_searched(tables: StoreTables, collections: Collections) -> None:
    name = collections.create({"_id": 1, "zone": "a", "v": 1}, {"_id": 2, "zone": "a", "v": 2})
    columns = "_id INT, zone STRING, v INT, PRIMARY KEY (_id) NOT ENFORCED"
    table = tables.over("mongodb", columns, collections.options(name), "PARTITIONED BY (zone)")
    tables.insert(f"INSERT INTO {table} VALUES (1, 'a', 10), (3, 'b', 30)")
    assert [(each["_id"], each["zone"], each["v"]) for each in collections.all(name)] == [
        (1, "a", 10),
        (2, "a", 2),
        (3, "b", 30),
    ]


@pytest.mark.parametrize("strategy", ["single", "sample", "split-vector", "sharded", "pagination", "default"])
def test_parts(tables: StoreTables, collections: Collections, strategy: str) -> None:
    # Keys of several kinds, which MongoDB puts in an order of its own. Fewer than 32: this server takes samples by
    # sorting with a comparison that changes its mind, which Java notices for more.
    keys = [*range(13), *map(str, range(10)), *(bson.ObjectId() for _ in range(6)), 2.5]
    name = collections.create(*({"_id": key, "n": number} for number, key in enumerate(keys)))
    options = {
        "scan.partition.strategy": strategy,
        "scan.partition.size": "100 b",
        "scan.partition.samples": "3",
        "scan.fetch-size": "7",
    }
    table = tables.over("mongodb", "n INT", collections.options(name) | options)
    assert tables.rows(f"SELECT * FROM {table}") == [(number,) for number in range(len(keys))]
    assert tables.query(f"SELECT COUNT(*) FROM {table} WHERE n >= 20")[-1][1] == (len(keys) - 20,)


def test_filters_mean_the_same(tables: StoreTables, collections: Collections) -> None:
    at = dt.datetime(2024, 1, 2, tzinfo=UTC)
    name = collections.create(
        {"_id": 1, "s": "a", "d": bson.Decimal128("1.5"), "at": at, "b": True},
        {"_id": 2, "s": "A", "d": 2.0, "at": bson.Timestamp(int(at.timestamp()) + 9, 1), "b": False},
        {"_id": 3, "s": "a ", "d": bson.Int64(-3), "at": at.replace(year=1969)},
        {"_id": 4, "s": None},
        {"_id": 5, "s": {"x": 1}},
    )
    columns = "_id INT, s STRING, d DECIMAL(10, 2), `at` TIMESTAMP_LTZ(3), b BOOLEAN"
    conditions = {
        "s = 'a'": [1],
        "s <> 'a'": [2, 3, 5],
        "s IN ('A', 'b')": [2],
        "s > 'A'": [1, 3, 5],
        "s = '{\"x\": 1}'": [5],
        "s IS NULL": [4],
        "s IS NOT NULL AND _id < 3": [1, 2],
        "d >= 1.5 OR _id = 3": [1, 2, 3],
        "d BETWEEN -4 AND 1.5": [1, 3],
        "`at` > TO_TIMESTAMP_LTZ(0, 3)": [1, 2],
        "NOT (_id = 1)": [2, 3, 4, 5],
        "_id = 1 OR UPPER(s) = 'A'": [1, 2],
        "b = TRUE": [1],
        "b IS NULL": [3, 4, 5],
        "d = 1.50": [1],
    }
    for policy in ("always", "never"):
        options = collections.options(name) | {"filter.handling.policy": policy}
        table = tables.over("mongodb", columns, options)
        for condition, wanted in conditions.items():
            found = [row[0] for row in tables.rows(f"SELECT _id FROM {table} WHERE {condition}")]
            assert found == wanted, (policy, condition)


def test_what_sql_has_no_type_for(tables: StoreTables, collections: Collections) -> None:
    oid = bson.ObjectId()
    name = collections.create({"_id": oid, "d": {"a": [1]}, "r": bson.Regex("^9$", "i"), "c": bson.Code("f()")})
    table = tables.over("mongodb", "_id STRING, d STRING, r STRING, c STRING, missing INT", collections.options(name))
    assert tables.rows(f"SELECT * FROM {table}") == [
        (
            str(oid),
            '{"a": [1]}',
            '{"_value": {"$regularExpression": {"pattern": "^9$", "options": "i"}}}',
            '{"_value": {"$code": "f()"}}',
            None,
        )
    ]


def test_look_ups(tables: StoreTables, collections: Collections) -> None:
    name = collections.create(
        {"_id": 1, "name": "a", "v": 10}, {"_id": 2, "name": "b", "v": 20}, {"_id": 3, "name": "b", "v": bson.Int64(21)}
    )
    table = tables.over("mongodb", "_id INT, name STRING, v INT", collections.options(name, lookup__cache="PARTIAL"))
    assert tables.joined("(1), (2), (9), (1)", table, "r._id = l.k") == [
        (1, 1, "a", 10),
        (1, 1, "a", 10),
        (2, 2, "b", 20),
        (9, None, None, None),
    ]
    whole = tables.over("mongodb", "_id INT, name STRING, v INT", collections.options(name, lookup__cache="FULL"))
    assert tables.joined("(2), (9)", whole, "r._id = l.k", "l.k, r.name") == [(2, "b"), (9, None)]
    assert tables.joined("('b'), ('z')", table, "r.name = l.k", "l.k, r.v", "") == [("b", 20), ("b", 21)]
    two = tables.joined("('b'), ('a')", table, "r.name = l.k AND r.v = 20", "l.k, r._id", "")
    assert two == [("b", 2)]


READ, WRITE = "SELECT * FROM m", "INSERT INTO m VALUES (1, 'x')"


@pytest.mark.parametrize(
    ("statement", "columns", "options", "said"),
    [
        (READ, "_id INT, v TIME", {}, "column 'v': MongoDB has no values of type TIME"),
        (READ, "_id INT, v MAP<INT, INT>", {}, "column 'v': MongoDB has no values of type MAP<INT, INT>"),
        (READ, "_id INT", {"uri": "http://x"}, "'uri' begins with mongodb://"),
        (READ, "_id INT", {"scan.partition.strategy": "x"}, "'scan.partition.strategy' is one of default, single"),
        (READ, "_id INT", {"scan.fetch": "x"}, "did you mean 'scan.fetch-size'"),
        (WRITE, "_id INT, v STRING", {"sink.delivery-guarantee": "exactly-once"}, "is one of at-least-once, none"),
        (WRITE, "_id INT, v STRING, PRIMARY KEY (v) NOT ENFORCED", {}, "a column '_id' must be the PRIMARY KEY"),
    ],
)
def test_what_cannot_be(tables: StoreTables, statement: str, columns: str, options: dict[str, str], said: str) -> None:
    given = {"connector": "mongodb", "uri": "mongodb://nowhere", "database": "d", "collection": "c", **options}
    shown = ", ".join(f"'{key}' = '{value}'" for key, value in given.items())
    tables.environment.execute_sql(f"CREATE TABLE m ({columns}) WITH ({shown})")
    with pytest.raises(TableException) as caught:
        tables.insert(statement) if statement == WRITE else tables.query(statement)
    assert said in str(caught.value)
