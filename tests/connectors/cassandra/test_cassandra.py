"""Tables and sinks of Cassandra, on a node of version 4.1: ``make connectors`` runs these."""

from __future__ import annotations

import datetime as dt
import random
import threading
import uuid
from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Any

import pytest
from tests.connectors.cassandra.conftest import Keyspace
from tests.connectors.stores.as_rows import AsRows
from tests.connectors.stores.store_tables import SECRET, StoreTables

from millrace.common import Row, Types
from millrace.common.sink import Sink
from millrace.connectors.cassandra.cassandra_streams import (
    CassandraCluster,
    CassandraCommitter,
    CassandraStatement,
    CassandraWriteAheadSink,
)
from millrace.connectors.cassandra.cassandra_table import CassandraChanges, CassandraTable
from millrace.connectors.stores import BufferedSink, Buffering, Retrying
from millrace.datastream import StreamExecutionEnvironment
from millrace.datastream.connectors.cassandra import CassandraSink, ClusterBuilder
from millrace.relational.rex import Field
from millrace.relational.types import string
from millrace.testing import Check
from millrace.testing.connectors import SinkUnderTest, sink_checks
from millrace.testing.local import run_locally

pytestmark = [pytest.mark.services, pytest.mark.slow]
PLACES: list[Keyspace] = []
"""the one that is tested: checks are listed before it is there"""


@pytest.fixture(autouse=True)
def chosen(keyspace: Keyspace) -> Iterator[None]:
    PLACES.append(keyspace)
    yield
    PLACES.clear()


def cluster(keyspace: Keyspace) -> CassandraCluster:
    server = keyspace.server
    return CassandraCluster(("127.0.0.1",), server.port, server.user, server.password)


UUID = "123e4567-e89b-12d3-a456-426614174000"
TYPES: dict[str, tuple[str, str, Any]] = {
    "boolean": ("BOOLEAN", "TRUE", True),
    "tinyint": ("TINYINT", "CAST(-128 AS TINYINT)", -128),
    "smallint": ("SMALLINT", "CAST(-2 AS SMALLINT)", -2),
    "int": ("INT", "2147483647", 2147483647),
    "bigint": ("BIGINT", "9223372036854775807", 2**63 - 1),
    "float": ("FLOAT", "CAST(1.5 AS FLOAT)", 1.5),
    "double": ("DOUBLE", "CAST(-1.25E300 AS DOUBLE)", -1.25e300),
    "decimal": ("DECIMAL(20, 3)", "CAST(-12345678901234567.891 AS DECIMAL(20, 3))", Decimal("-12345678901234567.891")),
    "varint": (
        "DECIMAL(30, 0)",
        "CAST(123456789012345678901234567890 AS DECIMAL(30, 0))",
        123456789012345678901234567890,
    ),
    "text": ("STRING", "'ä€😀'", "ä€😀"),
    "ascii": ("STRING", "'a'", "a"),
    "blob": ("BYTES", "x'00ff10'", b"\x00\xff\x10"),
    "uuid": ("STRING", f"'{UUID}'", uuid.UUID(UUID)),
    "inet": ("STRING", "'10.0.0.1'", "10.0.0.1"),
    "date": ("DATE", "DATE '1969-12-31'", None),
    "time": ("TIME(6)", "TIME '23:59:59.123'", None),
    "timestamp": ("TIMESTAMP_LTZ(3)", "TO_TIMESTAMP_LTZ(-1001, 3)", dt.datetime(1969, 12, 31, 23, 59, 58, 999000)),
    "list<int>": ("ARRAY<INT>", "ARRAY[1, 2]", [1, 2]),
    "set<text>": ("ARRAY<STRING>", "ARRAY['a', 'b']", {"a", "b"}),
    "map<text, bigint>": ("MAP<STRING, BIGINT>", "MAP['k', CAST(5 AS BIGINT)]", {"k": 5}),
}


def test_values_come_back(tables: StoreTables, keyspace: Keyspace) -> None:
    there = ", ".join(f"c{number} {kind}" for number, kind in enumerate(TYPES))
    name = keyspace.create(f"id int PRIMARY KEY, {there}")
    declared = ", ".join(f"c{number} {kind}" for number, (kind, _, _) in enumerate(TYPES.values()))
    table = tables.over("cassandra", f"id INT, {declared}", keyspace.options(name))
    made = ", ".join(f"CAST({value} AS {kind})" for kind, value, _ in TYPES.values())
    nulls = ", ".join(f"CAST(NULL AS {kind})" for kind, _, _ in TYPES.values())
    tables.insert(f"INSERT INTO {table} VALUES (1, {made}), (2, {nulls})")
    listed = ", ".join(f"c{number}" for number in range(len(TYPES)))
    (stored,) = keyspace.run(f"SELECT {listed} FROM shop.{name} WHERE id = 1")
    for (kind, (_, _, wanted)), value in zip(TYPES.items(), stored):
        if wanted is not None:
            assert value == wanted, kind
    ((_, whole),) = tables.query(f"SELECT {made}")
    found, empty = tables.rows(f"SELECT * FROM {table}")
    for kind, one, other in zip(TYPES, found[1:], whole):
        assert one == other, kind
    assert {None} >= {each for each in empty[1:] if each != () and each != frozenset()}


def test_changes_leave_what_a_dictionary_would_have(tables: StoreTables, keyspace: Keyspace) -> None:
    name = keyspace.create("k bigint, s text, n bigint, total bigint, PRIMARY KEY (k, s)")
    columns = "k BIGINT, s STRING, n BIGINT, total BIGINT, PRIMARY KEY (k, s) NOT ENFORCED"
    table = tables.over("cassandra", columns, keyspace.options(name))
    dice = random.Random(7)
    rows = [(dice.randrange(40), dice.randrange(-9, 10)) for _ in range(300)]
    values = ", ".join(f"({key}, {value})" for key, value in rows)
    grouped = f"SELECT k, COUNT(*), SUM(v) FROM (VALUES {values}) AS t(k, v) GROUP BY k HAVING SUM(v) >= 0"
    tables.insert(f"INSERT INTO {table} SELECT k, 'x', n, t FROM ({grouped}) AS g(k, n, t)")
    wanted: dict[int, list[int]] = {}
    for key, value in rows:
        wanted.setdefault(key, []).append(value)
    expected = [(key, len(each), sum(each)) for key, each in sorted(wanted.items()) if sum(each) >= 0]
    assert sorted(keyspace.run(f"SELECT k, n, total FROM shop.{name}")) == expected


def test_parts_and_pages(tables: StoreTables, keyspace: Keyspace) -> None:
    name = keyspace.create("id int PRIMARY KEY, s text")
    options = keyspace.options(name) | {"scan.partition.num": "5", "scan.fetch-size": "7"}
    table = tables.over("cassandra", "id INT, s STRING", options)
    tables.insert(f"INSERT INTO {table} VALUES {', '.join(f'({n}, CAST(NULL AS STRING))' for n in range(100))}")
    assert tables.rows(f"SELECT id FROM {table}") == [(number,) for number in range(100)]
    assert tables.query(f"SELECT COUNT(*) FROM {table}")[-1][1] == (100,)
    assert tables.rows(f"SELECT id FROM {table} WHERE id > 97") == [(98,), (99,)]


def test_look_ups(tables: StoreTables, keyspace: Keyspace) -> None:
    name = keyspace.create("id bigint, at int, name text, PRIMARY KEY (id, at)")
    table = tables.over("cassandra", "id BIGINT, `at` INT, name STRING", keyspace.options(name))
    tables.insert(f"INSERT INTO {table} VALUES (1, 1, 'a'), (2, 1, 'b'), (2, 2, 'c')")
    found = tables.joined("(1), (2), (9), (1)", table, "r.id = l.k", "l.k, r.name")
    assert sorted(found, key=str) == sorted([(1, "a"), (1, "a"), (2, "b"), (2, "c"), (9, None)], key=str)
    both = tables.joined("(2)", table, "r.id = l.k AND r.`at` = 2", "l.k, r.name", "")
    assert both == [(2, "c")]
    left = "(SELECT k, PROCTIME() AS p FROM (VALUES (1)) AS x(k)) AS l"
    with pytest.raises(Exception, match="a look-up needs the whole partition key, and 'id'"):
        tables.query(f"SELECT * FROM {left} JOIN {table} FOR SYSTEM_TIME AS OF l.p AS r ON r.`at` = l.k")


def test_nulls(tables: StoreTables, keyspace: Keyspace) -> None:
    name = keyspace.create("id int PRIMARY KEY, a text, b text")
    keyspace.run(f"INSERT INTO shop.{name} (id, a, b) VALUES (1, 'old', 'old')")
    ignoring = tables.over(
        "cassandra", "id INT, a STRING, b STRING", keyspace.options(name, sink__ignore_null_value="true")
    )
    tables.insert(f"INSERT INTO {ignoring} VALUES (1, 'new', CAST(NULL AS STRING))")
    assert keyspace.run(f"SELECT * FROM shop.{name}") == [(1, "new", "old")]
    plain = tables.over("cassandra", "id INT, a STRING, b STRING", keyspace.options(name))
    tables.insert(f"INSERT INTO {plain} VALUES (1, 'new', CAST(NULL AS STRING))")
    assert keyspace.run(f"SELECT * FROM shop.{name}") == [(1, "new", None)]


def builder(keyspace: Keyspace) -> ClusterBuilder:
    place = cluster(keyspace)
    return ClusterBuilder(place.cluster)


@pytest.mark.parametrize("ahead", [False, True])
def test_pyflinks_sink(keyspace: Keyspace, ahead: bool) -> None:
    name = keyspace.create("id int PRIMARY KEY, word text")
    env = StreamExecutionEnvironment()
    stream = env.from_collection([Row(1, "a"), Row(2, None)], Types.ROW([Types.INT(), Types.STRING()]))
    made = CassandraSink.add_sink(stream).set_query(f"INSERT INTO shop.{name} (id, word) VALUES (?, ?)")
    made = made.set_cluster_builder(builder(keyspace)).set_max_concurrent_requests(8, dt.timedelta(seconds=30))
    (made.enable_write_ahead_log() if ahead else made.enable_ignore_null_fields()).build().name("words")
    run_locally(env)
    assert sorted(keyspace.run(f"SELECT id, word FROM shop.{name}")) == [(1, "a"), (2, None)]


def test_what_is_said(tables: StoreTables, keyspace: Keyspace) -> None:
    wrong = keyspace.options("t") | {"password": SECRET, "sink.max-retries": "0"}
    said = tables.failure(f"SELECT * FROM {tables.over('cassandra', 'id INT', wrong)}")
    assert "Bad credentials" in said or "incorrect" in said
    missing = tables.over("cassandra", "id INT, v INT", keyspace.options("missing"))
    for statement in (f"SELECT * FROM {missing}", f"INSERT INTO {missing} VALUES (1, 2)"):
        assert "there is no table 'missing' in keyspace 'shop'" in tables.failure(statement)
    nowhere = keyspace.options("t") | {"keyspace": "nowhere"}
    assert "no keyspace 'nowhere'" in tables.failure(f"SELECT * FROM {tables.over('cassandra', 'id INT', nowhere)}")
    name = keyspace.create("id int PRIMARY KEY, v text, t timestamp, n tinyint, u uuid")
    keyspace.run(f"INSERT INTO shop.{name} (id, v) VALUES (1, 'no number')")
    for columns, values, text in (
        ("id INT, other INT", "1, 2", "there is no column 'other', there are id"),
        ("id INT, v INT", "1, 2", "text there, which cannot be written from INT"),
        ("id INT, t TIMESTAMP(6)", "1, TIMESTAMP '2024-01-01 00:00:00.000001'", "keeps milliseconds"),
        ("id INT, n INT", "1, 1000", '"n"'),
        ("id INT, u STRING", "1, 'none'", "badly formed"),
    ):
        table = tables.over("cassandra", columns, keyspace.options(name))
        said = tables.failure(f"INSERT INTO {table} VALUES ({values})")
        assert text in said
        assert name in said
    read = tables.over("cassandra", "id INT, v INT", keyspace.options(name))
    said = tables.failure(f"SELECT * FROM {read}")
    assert "'no number', which is no INT" in said
    assert name in said


def test_a_server_that_is_killed_and_comes_back(keyspace: Keyspace) -> None:
    name = keyspace.create("id int PRIMARY KEY")
    retrying = Retrying(cluster(keyspace), Buffering(retries=300, pause=0.005))

    def insert(number: int) -> None:
        retrying.run(lambda connection: connection.session.execute(f"INSERT INTO shop.{name} (id) VALUES ({number})"))

    insert(1)
    insert(1)  # what is in the log for 50 ms is on disk
    threading.Event().wait(0.5)
    server = keyspace.server
    server.crash()
    back = threading.Thread(target=server.start_again)
    back.start()
    insert(2)
    back.join()
    retrying.close()
    fresh = Keyspace(server)
    found = sorted(fresh.run(f"SELECT id FROM shop.{name}"))
    fresh.cluster.shutdown()
    assert found == [(1,), (2,)]


class Keyed(SinkUnderTest):
    exactly_once = False  # what no checkpoint covers is seen before
    seen_after_ms = 1_000

    def __init__(self) -> None:
        (self.place,) = PLACES
        self.name = self.place.create("element text PRIMARY KEY")

    def sink(self) -> Sink[Any]:
        table = CassandraTable(cluster(self.place), "shop", self.name)
        changes = CassandraChanges(table, (Field("element", string()),), ("element",))
        return AsRows(BufferedSink(table.cluster, changes, Buffering(max_rows=3), len))

    def written(self) -> Sequence[str]:
        return [element for (element,) in self.place.run(f"SELECT element FROM shop.{self.name}")]

    def close(self) -> None:
        self.place.run(f"DROP TABLE shop.{self.name}")


class Ahead(Keyed):
    exactly_once = True

    def sink(self) -> Sink[Any]:
        query = f"INSERT INTO shop.{self.name} (element) VALUES (?)"
        return CassandraWriteAheadSink(CassandraStatement(cluster(self.place), query), CassandraCommitter())


CHOSEN = ("driver dies: committing", "taken for dead", "seed 1", "Other parallelisms")


@pytest.mark.parametrize("check", [each for each in sink_checks(Keyed) if any(w in str(each) for w in CHOSEN)], ids=str)
def test_a_table_with_a_key(check: Check) -> None:
    check()


@pytest.mark.parametrize("check", [each for each in sink_checks(Ahead) if any(w in str(each) for w in CHOSEN)], ids=str)
def test_write_ahead(check: Check) -> None:
    check()
