"""PyFlink's ``JdbcSink``, its options and its builder."""

from __future__ import annotations

import datetime as dt
import decimal
import pickle
from typing import Any

import pytest
from tests.connectors.jdbc.databases import Place

from millrace.common import Row, Types
from millrace.datastream import StreamExecutionEnvironment
from millrace.datastream.connectors.jdbc import (
    JdbcConnectionOptions,
    JdbcExactlyOnceOptions,
    JdbcExecutionOptions,
    JdbcSink,
)
from millrace.testing.local import run_locally

TYPE = Types.ROW_NAMED(["id", "name"], [Types.INT(), Types.STRING()])


def where(place: Place) -> JdbcConnectionOptions:
    builder = JdbcConnectionOptions.JdbcConnectionOptionsBuilder().with_url(place.url)
    if place.user is not None:
        builder = builder.with_user_name(place.user).with_password(place.password or "")
    return builder.with_driver_name("org.postgresql.Driver").build()


def run(elements: list[Any], sink: JdbcSink, type_info: Any = TYPE) -> None:
    env = StreamExecutionEnvironment()
    env.from_collection(elements, type_info).add_sink(sink)
    run_locally(env)


def test_rows(place: Place) -> None:
    table = place.create("id INT, name VARCHAR(20)")
    sink = JdbcSink.sink(f"INSERT INTO {table} (id, name) VALUES (?, ?)", TYPE, where(place))
    run([Row(1, "a"), Row(2, "it's ? 100%"), Row(3, None)], sink)
    assert sorted(map(tuple, place.run(f"SELECT * FROM {table}"))) == [(1, "a"), (2, "it's ? 100%"), (3, None)]


def test_values_of_all_kinds(place: Place) -> None:
    table = place.create("d DECIMAL(10, 2), day DATE, moment TIMESTAMP NULL, yes BOOLEAN, f DOUBLE PRECISION")
    at = dt.datetime(2024, 1, 2, 3, 4, 5)
    values = (decimal.Decimal("1.50"), dt.date(2024, 1, 2), at, True, 0.5)
    kind = Types.ROW([Types.BIG_DEC(), Types.SQL_DATE(), Types.SQL_TIMESTAMP(), Types.BOOLEAN(), Types.DOUBLE()])
    sink = JdbcSink.sink(f"INSERT INTO {table} VALUES (?, ?, ?, ?, ?)", kind, where(place))
    run([Row(*values)], sink, kind)
    (found,) = place.run(f"SELECT * FROM {table}")
    assert [str(float(found[0])), str(found[1]), str(found[2]), bool(found[3]), found[4]] == [
        "1.5",
        "2024-01-02",
        "2024-01-02 03:04:05",
        True,
        0.5,
    ]


def test_marks(place: Place) -> None:
    table = place.create("id INT, name VARCHAR(20)")
    builder = JdbcSink.builder().with_query_statement(f"INSERT INTO {table} VALUES (?, ?)", TYPE)
    run([Row(1, "a"), Row(2, "b")], builder.build_exactly_once(where(place), JdbcExactlyOnceOptions.marks()))
    assert sorted(map(tuple, place.run(f"SELECT * FROM {table}"))) == [(1, "a"), (2, "b")]


@pytest.mark.services
def test_prepared_transactions(postgresql_place: Place) -> None:
    table = postgresql_place.create("id INT, name VARCHAR(20)")
    builder = JdbcSink.builder().with_query_statement(
        f"INSERT INTO {table} VALUES (?, ?)", values_of=lambda word: (len(word), word)
    )
    run(["a", "bc"], builder.build_exactly_once(where(postgresql_place)), Types.STRING())
    assert sorted(postgresql_place.run(f"SELECT * FROM {table}")) == [(1, "a"), (2, "bc")]
    assert postgresql_place.run("SELECT gid FROM pg_prepared_xacts") == []


def test_options() -> None:
    builder = JdbcConnectionOptions.JdbcConnectionOptionsBuilder().with_url("jdbc:mysql://h/d")
    options = builder.with_user_name("u").with_password("very-secret").with_driver_name("d").build()
    assert (options.get_db_url(), options.get_user_name(), options.get_password()) == (
        "jdbc:mysql://h/d",
        "u",
        "very-secret",
    )
    assert options.get_driver_name() == "d"
    assert "very-secret" not in repr(options.database())
    assert pickle.loads(pickle.dumps(options.database())) == options.database()
    defaults = JdbcExecutionOptions.defaults()
    assert (defaults.get_batch_size(), defaults.get_batch_interval_ms(), defaults.get_max_retries()) == (5000, 0, 3)
    given = JdbcExecutionOptions.builder().with_batch_size(7).with_batch_interval_ms(8).with_max_retries(9).build()
    assert (given.get_batch_size(), given.get_batch_interval_ms(), given.get_max_retries()) == (7, 8, 9)


def test_what_cannot_be() -> None:
    with pytest.raises(ValueError, match="is no JDBC URL"):
        JdbcConnectionOptions.JdbcConnectionOptionsBuilder().build()
    with pytest.raises(ValueError, match="must not be negative"):
        JdbcExecutionOptions.builder().with_batch_size(-1)
    options = JdbcConnectionOptions.JdbcConnectionOptionsBuilder().with_url("jdbc:sqlite:/tmp/x.db").build()
    with pytest.raises(ValueError, match="has 1 parameters, but rows have the fields"):
        JdbcSink.sink("INSERT INTO t VALUES (?)", TYPE, options)
    with pytest.raises(ValueError, match="SQLite prepares no transactions"):
        JdbcSink.builder().with_query_statement("x").build_exactly_once(options)
    with pytest.raises(TypeError, match="no Java objects"):
        JdbcSink(object())  # type: ignore[arg-type]
