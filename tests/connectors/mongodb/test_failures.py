"""What may go wrong with MongoDB, and what is said then: never a password, always the place and the collection."""

from __future__ import annotations

import threading

import pytest
from tests.connectors.mongodb.conftest import Collections
from tests.connectors.stores.store_tables import SECRET, StoreTables
from tests.servers.proxy import Proxy

from millrace.connectors.mongodb.mongodb_collection import Collection
from millrace.connectors.stores import Buffering, Retrying
from millrace.testing.services.server import free_ports

COLUMNS = "_id INT, name STRING, PRIMARY KEY (_id) NOT ENFORCED"


def table(tables: StoreTables, uri: str, columns: str = COLUMNS, name: str = "c", **options: str) -> str:
    given = {"uri": uri, "database": "shop", "collection": name, "sink.max-retries": "0", **options}
    return tables.over("mongodb", columns, given)


@pytest.mark.parametrize("statement", ["SELECT * FROM {}", "INSERT INTO {} VALUES (1, 'x')"])
def test_nobody_listens(tables: StoreTables, statement: str) -> None:
    (port,) = free_ports(1)
    uri = f"mongodb://user:{SECRET}@127.0.0.1:{port}/?serverSelectionTimeoutMS=500"
    said = tables.failure(statement.format(table(tables, uri)))
    assert f"127.0.0.1:{port}" in said
    assert "shop.c" in said
    assert "refused" in said


@pytest.mark.services
def test_a_server_that_knows_no_such_user(tables: StoreTables, collections: Collections) -> None:
    # This server has no users at all, and says so.
    said = tables.failure(f"SELECT * FROM {table(tables, f'mongodb://user:{SECRET}@127.0.0.1:{collections.port}/')}")
    assert f"127.0.0.1:{collections.port}" in said


def test_a_uri_that_is_none(tables: StoreTables) -> None:
    said = tables.failure(f"SELECT * FROM {table(tables, 'mongodb://u:p:q@h:x/')}")
    assert "collection shop.c" in said


@pytest.mark.services
def test_a_collection_that_is_not_there(tables: StoreTables, collections: Collections) -> None:
    name = table(tables, collections.uri, name="not_there_yet")
    assert tables.rows(f"SELECT * FROM {name}") == []  # as in every client of MongoDB
    tables.insert(f"INSERT INTO {name} VALUES (1, 'x')")
    assert tables.rows(f"SELECT * FROM {name}") == [(1, "x")]


@pytest.mark.services
def test_values_of_another_type(tables: StoreTables, collections: Collections) -> None:
    name = collections.create({"_id": 1, "v": "no number"}, {"_id": 2, "v": 7})
    said = tables.failure(f"SELECT v FROM {table(tables, collections.uri, '_id INT, v INT', name)}")
    assert "field 'v'" in said
    assert "'no number', which is no INT" in said
    assert name in said
    said = tables.failure(f"SELECT * FROM {table(tables, collections.uri, '_id INT, v BOOLEAN', name)}")
    assert "document with _id" in said
    assert "which is no BOOLEAN" in said


@pytest.mark.services
@pytest.mark.parametrize("value", ["TIMESTAMP '2024-01-01 00:00:00.000001'"])
def test_values_that_mongodb_cannot_keep(tables: StoreTables, collections: Collections, value: str) -> None:
    name = collections.create()
    said = tables.failure(
        f"INSERT INTO {table(tables, collections.uri, '_id INT, v TIMESTAMP(6)', name)} VALUES (1, {value})"
    )
    assert "MongoDB keeps milliseconds" in said
    assert collections.all(name) == []


@pytest.mark.services
def test_a_document_that_the_server_refuses(tables: StoreTables, collections: Collections) -> None:
    name = collections.create({"_id": 1})
    said = tables.failure(f"INSERT INTO {table(tables, collections.uri, '_id INT, name STRING', name)} VALUES (1, 'x')")
    assert "duplicate key" in said
    assert name in said


@pytest.mark.services
def test_a_server_that_is_gone_for_a_while(collections: Collections) -> None:
    proxy = Proxy()
    proxy.start([collections.port])
    name = collections.create()
    uri = f"mongodb://127.0.0.1:{proxy.ports[0]}/?serverSelectionTimeoutMS=100&directConnection=true"
    retrying = Retrying(Collection(uri, "shop", name), Buffering(retries=100, pause=0.005))

    def insert(number: int) -> None:
        retrying.run(lambda connection: connection.collection.replace_one({"_id": number}, {}, upsert=True))

    insert(1)
    proxy.cut()
    back = threading.Timer(0.5, proxy.mend)
    back.start()
    insert(2)
    back.join()
    retrying.close()
    proxy.stop()
    assert collections.all(name) == [{"_id": 1}, {"_id": 2}]
