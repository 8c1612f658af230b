"""Metadata columns of sinks: written by name where a connector has them, refused where it does not, and never in the
place of another column."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from tests.connectors.tables.message_tables import MessageTables

from millrace.connectors.tables.values_table import clear_values, register_values, results_of
from millrace.table.statement_runners.statements import insert_plans
from millrace.util.exceptions import TableException

HEADERS = "h MAP<STRING, BYTES> METADATA FROM 'headers'"
TOPIC = "'topic' = 't', 'properties.bootstrap.servers' = 'x', 'format' = 'json'"


@pytest.fixture
def tables() -> Iterator[MessageTables]:
    yield MessageTables()
    clear_values()


def created(tables: MessageTables, name: str, columns: str, connector: str, more: str = "") -> None:
    options = f"'connector' = '{connector}'" + (f", {more}" if more else "")
    tables.environment.execute_sql(f"CREATE TABLE {name} ({columns}) WITH ({options})")


def planned(tables: MessageTables, text: str) -> Any:
    (plan,) = insert_plans(text, tables.environment._session)
    return plan


def test_values_have_metadata_columns(tables: MessageTables) -> None:
    register_values("given", [(1, "x", 5), (2, "y", 6)])
    created(tables, "given", "m STRING METADATA, a INT, v INT METADATA FROM 'k' VIRTUAL", "values")
    created(tables, "kept", "m STRING METADATA, v INT METADATA FROM 'k' VIRTUAL, a INT, z INT METADATA", "values")
    assert tables.rows("SELECT m, a, v FROM given") == [("x", 1, 5), ("y", 2, 6)]
    tables.insert("INSERT INTO kept SELECT m, a, v FROM given", parallelism=1)
    found = [row.as_dict() for row in results_of("default_catalog.default_database.kept")]
    assert found == [{"a": 1, "m": "x", "z": 5}, {"a": 2, "m": "y", "z": 6}]


def test_an_insert_goes_by_the_order_of_the_table(tables: MessageTables) -> None:
    """Also where columns of one type could take each other's place."""
    created(tables, "kept", "b INT METADATA, a INT", "values")
    tables.insert("INSERT INTO kept VALUES (1, 2)", parallelism=1)
    tables.insert("INSERT INTO kept (a, b) VALUES (4, 3)", parallelism=1)
    found = [row.as_dict() for row in results_of("default_catalog.default_database.kept")]
    assert found == [{"a": 2, "b": 1}, {"a": 4, "b": 3}]


@pytest.mark.parametrize("virtual", ["ts TIMESTAMP_LTZ(3) METADATA FROM 'timestamp'", "t STRING METADATA FROM 'topic'"])
def test_a_virtual_column_takes_no_place_in_records(tables: MessageTables, virtual: str) -> None:
    created(tables, "k", f"a INT, {virtual} VIRTUAL, {HEADERS}", "kafka", TOPIC)
    plan = planned(tables, "INSERT INTO k SELECT 1, MAP['x', X'00']")
    assert plan.sink.stream().serializer.metadata == {"headers": 1}
    assert [column.name for column in plan.columns] == ["a", "h"]


REFUSED = [
    ("print", "", "connector 'print' does not write metadata 'partition'. Declare the column as VIRTUAL"),
    ("blackhole", "", "connector 'blackhole' does not write metadata 'partition'"),
    ("kafka", TOPIC, "connector 'kafka' does not write metadata 'partition'; there are headers, timestamp, topic"),
    ("mqtt", "'topic' = 't', 'url' = 'mqtt://x', 'format' = 'json'", "not write metadata 'partition'; there are topic"),
]


@pytest.mark.parametrize(("connector", "more", "message"), REFUSED, ids=[each[0] for each in REFUSED])
def test_what_is_not_written_is_refused(tables: MessageTables, connector: str, more: str, message: str) -> None:
    created(tables, "given", "a INT, m INT METADATA FROM 'partition'", connector, more)
    created(tables, "only_read", "a INT, m INT METADATA FROM 'partition' VIRTUAL", connector, more)
    with pytest.raises(TableException) as error:
        planned(tables, "INSERT INTO given VALUES (1, 2)")
    assert message in str(error.value)
    assert [column.name for column in planned(tables, "INSERT INTO only_read VALUES (1)").columns] == ["a"]


@pytest.mark.parametrize(
    ("connector", "more"), [("datagen", ""), ("socket", "'hostname' = 'x', 'port' = '1', 'format' = 'json'")]
)
def test_what_is_not_known_is_not_read(tables: MessageTables, connector: str, more: str) -> None:
    created(tables, "given", "a INT, m INT METADATA", connector, more)
    with pytest.raises(TableException, match=f"column 'm': connector '{connector}' has no metadata 'm'"):
        tables.environment.sql_query("SELECT a FROM given")
