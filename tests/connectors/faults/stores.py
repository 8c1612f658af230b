"""Stores, search servers and services that fail."""

from __future__ import annotations

import urllib.request
from typing import Any

from tests.connectors.cassandra.conftest import Keyspace
from tests.connectors.clickhouse.conftest import Store
from tests.connectors.faults.place import Place
from tests.connectors.hbase.conftest import Families
from tests.connectors.influxdb.test_influxdb import Influx
from tests.connectors.mongodb.conftest import Collections
from tests.connectors.search.indexes import Indexes

from millrace.testing.connectors.faults import Fault

AT_ONCE = {"sink.max-retries": "0"}


class MongoCollections(Place):
    name, connector, server = "mongodb", "mongodb", "mongodb"
    columns = "_id INT, name STRING, PRIMARY KEY (_id) NOT ENFORCED"
    looked_up = ("_id", "l.id", "r.name")
    wrong_columns = "_id INT, name INT"
    quick = AT_ONCE
    waiting = "`serverSelectionTimeoutMS` in the URI (30 s)"
    reasons = {
        Fault.PASSWORD: "the server of the tests has no users",
        Fault.MISSING: "a collection is made by the first document that is written",
    }

    def options(self, port: int, name: str, password: str | None) -> dict[str, str]:
        user = f"user:{password}@" if password is not None else ""
        patience = "serverSelectionTimeoutMS=500&connectTimeoutMS=500&directConnection=true"
        return {"uri": f"mongodb://{user}127.0.0.1:{port}/?{patience}", "database": "shop", "collection": name}

    def make(self, wrong: bool = False) -> str:
        return Collections(self.running).create(*[{"_id": 1, "name": "no number"}] * wrong)

    def written(self, name: str) -> list[Any]:
        return [(each["_id"], each["name"]) for each in Collections(self.running).all(name)]


class ClickHouseTables(Place):
    name, connector, server = "clickhouse", "clickhouse", "clickhouse"
    quick = {**AT_ONCE, "connection.timeout": "300 ms"}
    waiting = "`connection.timeout` (60 s)"

    def options(self, port: int, name: str, password: str | None) -> dict[str, str]:
        given = {"url": f"clickhouse://127.0.0.1:{port}", "table-name": name, "username": "millrace"}
        return given | {"password": password or self.running.password}

    def make(self, wrong: bool = False) -> str:
        store = Store(self.running)
        name = store.create("id Int32, name String")
        if wrong:
            store.run(f"INSERT INTO {name} VALUES (1, 'no number')")
        return name

    def written(self, name: str) -> list[Any]:
        return [(int(id), text) for id, text in Store(self.running).run(f"SELECT id, name FROM {name}")]


class HBaseTables(Place):
    name, connector, server = "hbase", "hbase-2.2", "hbase"
    columns = "id INT, f ROW<name STRING>, PRIMARY KEY (id) NOT ENFORCED"
    wrong_columns = "id INT, f ROW<name BIGINT>"
    looked_up = ("id", "l.id", "r.f.name")
    values = "{}, ROW({})"
    quick = {**AT_ONCE, "thrift.timeout": "500 ms"}
    waiting = "`thrift.timeout` (60 s)"
    reasons = {Fault.PASSWORD: "Thrift has none"}

    def meet_it(self, fault: Fault) -> None:
        if fault is Fault.MISSING:
            self.quick = AT_ONCE  # the server looks for it for a while
        super().meet_it(fault)

    def options(self, port: int, name: str, password: str | None) -> dict[str, str]:
        return {"table-name": name, "zookeeper.quorum": "z", "thrift.address": f"127.0.0.1:{port}"}

    def make(self, wrong: bool = False) -> str:
        families: Families = self.running
        name = families.create("f")
        if wrong:
            families.put(name, {b"\0\0\0\1": {b"f:name": b"no number"}})
        return name

    def written(self, name: str) -> list[Any]:
        found = self.running.all(name).items()
        return [(int.from_bytes(key, "big"), cells[b"f:name"].decode()) for key, cells in found]


class CassandraTables(Place):
    name, connector, server = "cassandra", "cassandra", "keyspace"
    columns = "id INT, name STRING, PRIMARY KEY (id) NOT ENFORCED"
    quick = {**AT_ONCE, "connection.timeout": "1 s"}
    waiting = "`connection.timeout` (30 s)"

    @property
    def port(self) -> int:
        return int(self.running.server.port)

    def options(self, port: int, name: str, password: str | None) -> dict[str, str]:
        given = {"hosts": "127.0.0.1", "port": str(port), "keyspace": "shop", "table-name": name}
        return given | {"username": "cassandra", "password": password or self.running.server.password}

    def make(self, wrong: bool = False) -> str:
        keyspace: Keyspace = self.running
        name = keyspace.create("id int PRIMARY KEY, name text")
        if wrong:
            keyspace.session.execute(f"INSERT INTO shop.{name} (id, name) VALUES (1, 'no number')")
        return name

    def written(self, name: str) -> list[Any]:
        return list(self.running.run(f"SELECT id, name FROM shop.{name}"))


class InfluxPoints(Place):
    name, connector, server = "influxdb", "influxdb", "influxdb_server"
    columns = "id STRING, `at` TIMESTAMP(3), name STRING"
    values = "CAST({} AS STRING), TIMESTAMP '2024-01-01 00:00:00', {}"
    wrong_values = "('1', TIMESTAMP '2024-01-01 00:00:00', 'a')"
    quick = {**AT_ONCE, "connection.timeout": "300 ms"}
    waiting = "`connection.timeout` (60 s)"
    reasons = {
        Fault.PASSWORD: "the server of the tests has no users; tests/connectors/influxdb answers 401",
        Fault.OTHER_WAY: "points are only written",
    }

    def options(self, port: int, name: str, password: str | None) -> dict[str, str]:
        return {"url": f"http://127.0.0.1:{port}", "database": name, "measurement": "m", "tags": "id"}

    def make(self, wrong: bool = False) -> str:
        influx = Influx(self.running.url)
        name = influx.create()
        if wrong:
            point = b"m,id=1 name=1i 1704067200000000000"
            with urllib.request.urlopen(f"{influx.url}/write?db={name}", point, timeout=30) as answer:
                assert answer.status == 204
        return name

    def written(self, name: str) -> list[Any]:
        found = Influx(self.running.url).ask("SELECT * FROM m GROUP BY *", name)
        return [(int(each["id"]), each["name"]) for each in found]


class _SearchIndexes(Place):
    columns = "id INT, name STRING, PRIMARY KEY (id) NOT ENFORCED"
    wrong_values = "(1, 'no number')"
    quick = {"socket.timeout": "300 ms", "connection.timeout": "300 ms", "sink.bulk-flush.backoff.strategy": "DISABLED"}
    waiting = "`socket.timeout`, `connection.timeout`"
    reasons = {
        Fault.PASSWORD: "the servers of the tests have no users; tests/connectors/search answers 401",
        Fault.MISSING: "an index is made by the first document that is written",
    }

    def options(self, port: int, name: str, password: str | None) -> dict[str, str]:
        return {"hosts": f"http://127.0.0.1:{port}", "index": name}

    def make(self, wrong: bool = False) -> str:
        indexes = Indexes(self.running)
        name = indexes.create({"name": {"type": "long" if wrong else "keyword"}})
        indexes.close()
        return name

    def written(self, name: str) -> list[Any]:
        indexes = Indexes(self.running)
        found = [(each["id"], each["name"]) for each in indexes.documents(name).values()]
        indexes.close()
        return found


class OpenSearchIndexes(_SearchIndexes):
    name, connector, server = "opensearch", "opensearch", "opensearch"


class ElasticsearchIndexes(_SearchIndexes):
    name, connector, server = "elasticsearch-7", "elasticsearch-7", "elasticsearch"


PLACES: list[type[Place]] = [
    MongoCollections,
    ClickHouseTables,
    HBaseTables,
    CassandraTables,
    InfluxPoints,
    OpenSearchIndexes,
    ElasticsearchIndexes,
]
