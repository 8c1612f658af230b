"""What can be said of tables and sinks of Cassandra without a server."""

from __future__ import annotations

from typing import Any

import pytest
from tests.connectors.stores.store_tables import SECRET, StoreTables, silent_server

from millrace.datastream import StreamExecutionEnvironment
from millrace.datastream.connectors import cassandra
from millrace.datastream.connectors.cassandra import CassandraSink, ClusterBuilder, ConsistencyLevel
from millrace.testing.services.server import free_ports
from millrace.util.exceptions import TableException

COLUMNS = "id INT, name STRING, PRIMARY KEY (id) NOT ENFORCED"


@pytest.fixture
def tables() -> StoreTables:
    return StoreTables()


def options(port: int, **more: str) -> dict[str, str]:
    given = {"hosts": "127.0.0.1", "port": str(port), "keyspace": "k", "table-name": "t"}
    return given | {"username": "u", "password": SECRET, "sink.max-retries": "0"} | more


def test_nobody_listens(tables: StoreTables) -> None:
    (port,) = free_ports(1)
    table = tables.over("cassandra", COLUMNS, options(port))
    for statement in (f"SELECT * FROM {table}", f"INSERT INTO {table} VALUES (1, 'x')"):
        said = tables.failure(statement)
        assert f"Cassandra at 127.0.0.1:{port}" in said
        assert "refused" in said


def test_a_server_that_does_not_answer(tables: StoreTables) -> None:
    with silent_server() as port:
        table = tables.over("cassandra", COLUMNS, options(port, **{"connection.timeout": "500 ms"}))
        said = tables.failure(f"INSERT INTO {table} VALUES (1, 'x')")
    assert f"127.0.0.1:{port}" in said
    assert "timed out" in said.lower() or "timeout" in said.lower()


@pytest.mark.parametrize(
    ("columns", "given", "said"),
    [
        ("id INT, r ROW<a INT>", {}, "column 'r': Cassandra is neither read nor written as ROW<`a` INT>"),
        (COLUMNS, {"hosts": "h:9042"}, "'hosts' is 'host1,host2'"),
        (COLUMNS, {"consistency": "some"}, "'consistency' is one of any, one"),
    ],
)
def test_what_cannot_be(tables: StoreTables, columns: str, given: dict[str, str], said: str) -> None:
    with pytest.raises(TableException) as caught:
        tables.query(f"SELECT * FROM {tables.over('cassandra', columns, options(1, **given))}")
    assert said in str(caught.value)


def test_sinks_that_cannot_be() -> None:
    stream: Any = StreamExecutionEnvironment().from_collection([(1, "a")])
    with pytest.raises(ValueError, match="needs set_query"):
        CassandraSink.add_sink(stream).build()
    with pytest.raises(ValueError, match="needs set_host"):
        CassandraSink.add_sink(stream).set_query("INSERT").build()
    with pytest.raises(ValueError, match="must be positive"):
        CassandraSink.add_sink(stream).set_max_concurrent_requests(0)
    with pytest.raises(NotImplementedError, match="USING TTL"):
        CassandraSink.add_sink(stream).set_mapper_options(None)
    with pytest.raises(TypeError, match="no Java objects"):
        ClusterBuilder(object())  # type: ignore[arg-type]
    with pytest.raises(NotImplementedError, match="MapperOptions"):
        cassandra.MapperOptions()
    assert ConsistencyLevel.LOCAL_QUORUM.value == 6
