"""What WITH says of captured tables, without a server."""

from __future__ import annotations

from typing import Any

import pytest

from millrace.connectors.cdc.changes import Chunking
from millrace.connectors.cdc.database import StartupMode
from millrace.connectors.cdc.mysql.mysql_source import MySqlCdcFactory
from millrace.connectors.cdc.postgres.postgres_source import PostgresCdcFactory
from millrace.datastream.connectors.cdc import JsonDebeziumDeserializationSchema, PostgresSourceBuilder, StartupOptions
from millrace.relational import types as t
from millrace.relational.rex import Field
from millrace.relational.sources import ALL_KINDS, INSERT_ONLY, UPSERT, TableContext
from millrace.table.sessions.table_info import factory_names, factory_of
from millrace.util.exceptions import TableException

GIVEN = {
    "connector": "postgres-cdc", "hostname": "h", "username": "u", "password": "secret-word", "database-name": "d",
    "schema-name": "app", "table-name": "orders_.*", "slot.name": "s",
}  # fmt: skip


def source(key: bool = True, **more: str) -> Any:
    options = {**GIVEN, **{name.replace("__", ".").replace("_", "-"): value for name, value in more.items()}}
    factory_of(options, "t")
    columns = (Field("id", t.IntType()), Field("v", t.string()))
    table = TableContext(("c", "d", "t"), columns, (), ("id",) if key else (), (), options)
    return PostgresCdcFactory().source(table)


def test_kinds_of_changes() -> None:
    assert source().kinds == ALL_KINDS
    assert source(changelog_mode="upsert").kinds == UPSERT
    assert source(scan__read_changelog_as_append_only__enabled="true").kinds == INSERT_ONLY
    snapshot = source(scan__startup__mode="snapshot")
    assert (snapshot.kinds, snapshot.bounded) == (INSERT_ONLY, True)
    with pytest.raises(TableException, match="needs a PRIMARY KEY"):
        source(key=False, changelog_mode="upsert")


def test_what_becomes_of_the_options() -> None:
    made = source(
        scan__incremental__snapshot__chunk__size="7",
        chunk_key__even_distribution__factor__upper_bound="2.5d",
        scan__incremental__snapshot__chunk__key_column="id",
        scan__startup__mode="committed-offset",
        heartbeat__interval__ms="5 s",
        debezium__slot__drop__on__stop="true",
        debezium__publication__name="p",
        scan__lsn_commit__checkpoints_num_delay="0",
        jdbc__properties__sslmode="require",
        connect__timeout="9 s",
    ).stream([0])
    assert made.chunking == Chunking(7, 0.05, 2.5)
    assert made.chunk_columns == {"": "id"}
    assert made.startup.mode is StartupMode.COMMITTED_OFFSETS
    settings = made.database.settings
    assert (settings.heartbeat, settings.drop_slot, settings.publication_name, settings.delay) == (5.0, True, "p", 0)
    assert (settings.target.properties, settings.target.timeout) == ({"sslmode": "require"}, 9.0)
    assert settings.wants("app", "orders_7")
    assert not settings.wants("other", "orders_7")
    assert "secret-word" not in repr(made)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"slot__nam": "x"}, "no option 'slot.nam', did you mean 'slot.name'"),
        ({"decoding__plugin__name": "decoderbufs"}, "'decoderbufs' is not read here: 'pgoutput' is"),
        ({"scan__startup__mode": "earliest-offset"}, "is one of initial, latest-offset, committed-offset, snapshot"),
        ({"changelog_mode": "some"}, "is one of all, upsert"),
        ({"debezium__snapshot__locking__mode": "x"}, "means nothing here"),
        ({"debezium__skipped__operations": "x"}, "has the letters"),
        ({"debezium__publication__autocreate__mode": "x"}, "is one of filtered, all_tables, disabled"),
        ({"slot__name": "Bad-Slot"}, "a slot's name has small letters"),
        ({"table_name": "("}, "is no regular expression"),
        ({"scan__incremental__snapshot__chunk__size": "0"}, "is at least 1"),
        ({"jdbc__properties__nonsense": "1"}, "no property of a connection"),
    ],
)
def test_what_cannot_be_is_said(more: dict[str, str], said: str) -> None:
    with pytest.raises(TableException) as error:
        source(**more)
    assert said in str(error.value)
    assert "secret-word" not in str(error.value)


@pytest.mark.parametrize(
    "name", ["mongodb-cdc", "oracle-cdc", "sqlserver-cdc", "db2-cdc", "oceanbase-cdc", "vitess-cdc"]
)
def test_other_databases_are_refused_with_a_way(name: str) -> None:
    assert name not in factory_names()
    factory = factory_of({"connector": name, "hostname": "h"}, "t")
    with pytest.raises(TableException, match=rf"'{name}' is not in Millrace.*'format' = 'debezium-json'"):
        factory.source(TableContext(("c", "d", "t"), (), options={"connector": name}))


def test_the_builder() -> None:
    builder = PostgresSourceBuilder.PostgresIncrementalSource.builder()
    with pytest.raises(ValueError, match="needs hostname, database, username, table_list, deserializer"):
        builder.build()
    made = (
        builder.hostname("h").port(99).database("d").schema_list("app").table_list("app.orders").username("u")
        .password("secret-word").slot_name("s").decoding_plugin_name("pgoutput").split_size(5)
        .startup_options(StartupOptions.latest()).debezium_properties({"skipped.operations": "t,d"})
        .deserializer(JsonDebeziumDeserializationSchema()).build()
    )  # fmt: skip
    assert made.database.settings.target.place == "h:99/d"
    assert (made.chunking.rows, made.startup.mode) == (5, StartupMode.LATEST_OFFSET)
    assert "secret-word" not in repr(made)
    with pytest.raises(ValueError, match="means nothing here"):
        builder.debezium_properties({"snapshot.fetch.size": 3})


def test_mysql_begins_at_a_time_of_these_years() -> None:
    given = {
        "connector": "mysql-cdc", "hostname": "h", "username": "u", "password": "p", "database-name": "d",
        "table-name": "t", "scan.startup.mode": "timestamp", "scan.startup.timestamp-millis": "1764450000000",
    }  # fmt: skip
    columns = (Field("id", t.IntType()),)
    made: Any = MySqlCdcFactory().source(TableContext(("c", "d", "t"), columns, (), ("id",), (), given)).stream([0])
    assert made.startup.timestamp == 1764450000000
