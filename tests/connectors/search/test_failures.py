"""What may go wrong with a server, and what is said then: always the place and the index."""

from __future__ import annotations

import threading
import time

import pytest
from tests.connectors.conftest import started
from tests.connectors.search.fake import Answer, Asked, done, serving
from tests.connectors.search.indexes import Indexes, SearchTables

from millrace.testing.services import OpenSearch
from millrace.testing.services.server import free_ports

COLUMNS = "id BIGINT, name STRING, PRIMARY KEY (id) NOT ENFORCED"
SECRET = "Pass-Word-1234"
LOGIN = {"username": "someone", "password": SECRET}
ONCE = {"sink.bulk-flush.backoff.strategy": "DISABLED"}


def failure(tables: SearchTables, name: str, write: bool) -> str:
    with pytest.raises(Exception, match="cause") as caught:
        tables.insert(f"INSERT INTO {name} VALUES (1, 'x')") if write else tables.query(f"SELECT * FROM {name}")
    said = str(caught.value)
    assert SECRET not in said
    return said


@pytest.mark.parametrize("write", [False, True])
def test_nobody_listens(tables: SearchTables, write: bool) -> None:
    (port,) = free_ports(1)
    name = tables.over(("opensearch", f"http://127.0.0.1:{port}"), "i", COLUMNS, **LOGIN, **ONCE)
    said = failure(tables, name, write)
    assert f"OpenSearch does not answer: http://127.0.0.1:{port}" in said and "refused" in said


@pytest.mark.parametrize("write", [False, True])
def test_a_wrong_password(tables: SearchTables, write: bool) -> None:
    def script(asked: Asked) -> Answer:
        return 401, {"error": {"type": "security_exception", "reason": "unable to authenticate"}}

    with serving("opensearch", script) as fake:
        said = failure(tables, tables.over(("opensearch", fake.url), "i", COLUMNS, **LOGIN), write)
    assert "HTTP 401, for user 'someone': unable to authenticate" in said


def test_a_slow_server(tables: SearchTables) -> None:
    ended = threading.Event()

    def script(asked: Asked) -> Answer:
        ended.wait(30)
        return done(asked)

    with serving("opensearch", script) as fake:
        name = tables.over(("opensearch", fake.url), "i", COLUMNS, **ONCE, **{"socket.timeout": "200 ms"})
        said = failure(tables, name, True)
        ended.set()
    assert "no answer in 0.2 s (timed out)" in said


def test_an_index_that_is_not_there(tables: SearchTables, indexes: Indexes) -> None:
    missing = indexes.new()
    assert f"no such index [{missing}]" in failure(tables, tables.over(indexes, missing, COLUMNS), False)
    indexes.client.put("/_cluster/settings", json={"transient": {"action.auto_create_index": "false"}})
    try:
        said = failure(tables, tables.over(indexes, missing, COLUMNS), True)
    finally:
        indexes.client.put("/_cluster/settings", json={"transient": {"action.auto_create_index": None}})
    assert "index_not_found_exception" in said and missing in said


def test_a_field_of_another_type(tables: SearchTables, indexes: Indexes) -> None:
    index = indexes.create({"name": {"type": "long"}})
    said = failure(tables, tables.over(indexes, index, COLUMNS), True)
    assert f"document '1' of index '{index}': mapper_parsing_exception" in said and "[name]" in said
    ignoring = tables.over(indexes, index, COLUMNS, **{"failure-handler": "ignore"})
    tables.insert(f"INSERT INTO {ignoring} VALUES (1, 'x'), (2, '3')")
    assert indexes.documents(index) == {"2": {"id": 2, "name": "3"}}


def test_documents_that_are_not_what_the_table_says(tables: SearchTables, indexes: Indexes) -> None:
    index = indexes.new()
    indexes.put(index, {"a": {"id": "no number", "name": "x"}})
    said = failure(tables, tables.over(indexes, index, COLUMNS), False)
    assert f"document 'a' of index '{index}'" in said and "no number" in said


def test_an_index_without_documents(tables: SearchTables, indexes: Indexes) -> None:
    index = indexes.new()
    indexes.client.put(f"/{index}", json={"mappings": {"_source": {"enabled": False}}}).raise_for_status()
    indexes.put(index, {"a": {"id": 1}})
    assert "_source is" in failure(tables, tables.over(indexes, index, COLUMNS), False)


def test_a_null_key(tables: SearchTables, indexes: Indexes) -> None:
    name = tables.over(indexes, indexes.new(), COLUMNS)
    with pytest.raises(Exception, match="NULL"):
        tables.insert(f"INSERT INTO {name} SELECT CAST(NULL AS BIGINT), 'x'")


@pytest.mark.parametrize("by", ["text", "double"])
def test_look_ups_that_cannot_be(tables: SearchTables, indexes: Indexes, by: str) -> None:
    index = indexes.create({"text": {"type": "text"}, "double": {"type": "double"}})
    name = tables.over(indexes, index, "`text` STRING, `double` DOUBLE")
    value = "'x'" if by == "text" else "1.5E0"
    left = f"(SELECT k, PROCTIME() AS p FROM (VALUES ({value})) AS x(k)) AS l"
    with pytest.raises(Exception, match=f"rows cannot be looked up by '{by}'"):
        tables.query(f"SELECT l.k FROM {left} JOIN {name} FOR SYSTEM_TIME AS OF l.p AS r ON r.`{by}` = l.k")


@pytest.mark.services
@pytest.mark.slow
def test_a_server_that_is_killed_and_comes_back(tables: SearchTables) -> None:
    with started(OpenSearch()) as server:
        indexes = Indexes(server)
        index = indexes.create({"id": {"type": "long"}})
        again = {"strategy": "CONSTANT", "max-retries": "600", "delay": "100 ms"}
        options = {f"sink.bulk-flush.backoff.{name}": value for name, value in again.items()}
        name = tables.over(indexes, index, COLUMNS, **options)
        tables.insert(f"INSERT INTO {name} VALUES (1, 'before')")
        server.crash()
        back = threading.Thread(target=server.start_again)
        back.start()
        began = time.monotonic()
        tables.insert(f"INSERT INTO {name} VALUES (2, 'after')")
        back.join()
        assert time.monotonic() - began < 300
        assert indexes.documents(index) == {"1": {"id": 1, "name": "before"}, "2": {"id": 2, "name": "after"}}
        indexes.close()
