"""Older names of tables make today's tables."""

from __future__ import annotations

import datetime
import warnings
from pathlib import Path
from typing import Any

import pytest
from tests.local_jobs import run_jobs_locally

from millrace.table import DataTypes, EnvironmentSettings, StreamTableEnvironment
from millrace.table.sql.text import SqlValidationError
from millrace.util.exceptions import TableException

STREAMING = EnvironmentSettings.in_streaming_mode()


@pytest.fixture
def t_env(told: list[warnings.WarningMessage], monkeypatch: pytest.MonkeyPatch) -> Any:
    run_jobs_locally(monkeypatch)
    return StreamTableEnvironment.create(environment_settings=STREAMING)


def created(t_env: Any, name: str) -> str:
    return str(next(iter(t_env.execute_sql(f"SHOW CREATE TABLE {name}").collect()))[0])


def test_kafka_with_a_rowtime(t_env: Any) -> None:
    from pyflink.table.descriptors import Json, Kafka, Rowtime, Schema  # type: ignore[import-not-found]

    rowtime = Rowtime().timestamps_from_field("ts").watermarks_periodic_bounded(1500)
    schema = Schema().field("user", DataTypes.BIGINT()).field("at", DataTypes.TIMESTAMP(3)).rowtime(rowtime)
    kafka = Kafka().version("universal").topic("t").start_from_earliest().property("bootstrap.servers", "b:1")
    json = Json().fail_on_missing_field(True)
    described = t_env.connect(kafka).with_format(json).with_schema(schema.field("p", DataTypes.TIMESTAMP(3)).proctime())
    described.in_append_mode().create_temporary_table("orders")
    assert [(row[0], row[1]) for row in t_env.execute_sql("DESCRIBE orders").collect()] == [
        ("user", "BIGINT"),
        ("at", "TIMESTAMP(3) *ROWTIME*"),
        ("p", "TIMESTAMP_LTZ(3) *PROCTIME*"),
    ]
    text = created(t_env, "orders__source")
    for part in ("'scan.startup.mode' = 'earliest-offset'", "'json.fail-on-missing-field' = 'true'", "'topic' = 't'"):
        assert part in text
    assert "WATERMARK FOR `at`" in text


def test_elasticsearch(t_env: Any) -> None:
    from pyflink.table.descriptors import Elasticsearch, Json, Schema

    place = Elasticsearch().version("7").host("a", 9200, "http").host("b", 9200, "http").index("i").document_type("d")
    schema = Schema().field("n", "BIGINT")
    t_env.connect(place).with_format(Json()).with_schema(schema).in_upsert_mode().register_table_sink("found")
    text = created(t_env, "found")
    assert "'connector' = 'elasticsearch-7'" in text
    assert "'hosts' = 'http://a:9200;http://b:9200'" in text


def test_several_inserts_are_one_job(t_env: Any, tmp_path: Path) -> None:
    from pyflink.table import CsvTableSink, CsvTableSource

    (tmp_path / "in").write_text("a;1\nb;2\n")
    types = [DataTypes.STRING(), DataTypes.BIGINT()]
    t_env.register_table_source("source", CsvTableSource(str(tmp_path / "in"), ["w", "n"], types, field_delim=";"))
    for name in ("one", "two"):
        t_env.register_table_sink(name, CsvTableSink(["w", "n"], types, str(tmp_path / name), field_delimiter="|"))
    t_env.scan("source").insert_into("one")
    t_env.insert_into("two", t_env.scan("source").where("n > 1"))
    t_env.execute("both")
    written = {
        name: sorted(line for part in (tmp_path / name).glob("part*") for line in part.read_text().split())
        for name in ("one", "two")
    }
    assert written == {"one": ["a|1", "b|2"], "two": ["b|2"]}
    with pytest.raises(TableException, match="there is nothing to execute"):
        t_env.execute("again")


def test_idle_state(t_env: Any) -> None:
    from pyflink.common import Time  # type: ignore[import-not-found]

    config = t_env.get_config()
    config.set_idle_state_retention_time(Time.hours(12), Time.hours(24))
    assert config.get_idle_state_retention() == datetime.timedelta(hours=12)
    with pytest.raises(TableException, match="at least 5 minutes"):
        config.set_idle_state_retention_time(Time.hours(12), Time.hours(12))


def test_java_is_refused_by_name(t_env: Any) -> None:
    with pytest.raises(NotImplementedError, match="register_java_function"):
        t_env.register_java_function("f", "org.example.F")


VERSIONS = {
    "join": "orders AS o JOIN rates FOR SYSTEM_TIME AS OF o.ts AS r ON o.currency = r.currency",
    "where": "orders AS o, LATERAL TABLE(rates(o.ts)) AS r WHERE o.currency = r.currency",
    "brackets": "orders AS o, LATERAL TABLE(rates(o.ts)) AS r WHERE (o.amount > 0 AND r.currency = o.currency)",
    "on": "orders AS o JOIN LATERAL TABLE(rates(o.ts)) AS r ON o.currency = r.currency",
    "true": "orders AS o JOIN LATERAL TABLE(rates(ts)) AS r ON TRUE WHERE o.currency = r.currency",
}


@pytest.mark.parametrize("source", VERSIONS.values(), ids=VERSIONS)
def test_versions_of_a_history(t_env: Any, source: str, tmp_path: Path) -> None:
    orders = [(1, "EUR", 2), (10, "EUR", 4), (100, "USD", 5), (1000, "EUR", 7)]
    history = [(2, "EUR", 1), (3, "USD", 2), (5, "EUR", 6)]
    for name, number, rows in (("orders", "amount", orders), ("history", "rate", history)):
        lines = [f"{value},{currency},2026-01-01 00:00:{second:02}\n" for value, currency, second in rows]
        (tmp_path / name).write_text("".join(lines))
        t_env.execute_sql(
            f"CREATE TABLE {name} ({number} INT, currency STRING, ts TIMESTAMP(3), WATERMARK FOR ts AS ts) "
            f"WITH ('connector' = 'filesystem', 'path' = '{tmp_path / name}', 'format' = 'csv')"
        )
    rates = t_env.from_path("history").create_temporal_table_function("ts", "currency")
    t_env.register_function("rates", rates)
    paid = [
        amount * [rate for rate, money, at in history if money == currency and at <= second][-1]
        for amount, currency, second in orders
    ]
    found = t_env.execute_sql(f"SELECT o.amount * r.rate FROM {source}").collect()
    assert sorted(row[0] for row in found) == sorted(paid)


def test_versions_take_one_time(t_env: Any) -> None:
    t_env.execute_sql(
        "CREATE TABLE history (rate INT, currency STRING, ts TIMESTAMP(3), WATERMARK FOR ts AS ts) "
        "WITH ('connector' = 'datagen')"
    )
    t_env.register_function("rates", t_env.from_path("history").create_temporal_table_function("ts", "currency"))
    with pytest.raises(SqlValidationError, match="takes one time of the table to its left"):
        t_env.sql_query("SELECT * FROM history AS h, LATERAL TABLE(rates(h.ts, 1)) AS r WHERE r.currency = h.currency")
    with pytest.raises(SqlValidationError, match="must compare the whole key of 'rates' with =; currency is missing"):
        t_env.sql_query("SELECT * FROM history AS h, LATERAL TABLE(rates(h.ts)) AS r WHERE r.rate = h.rate")
