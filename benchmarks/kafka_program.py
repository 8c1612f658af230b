"""The jobs that ``benchmarks.kafka_throughput`` measures, in PyFlink's words: they run on PyFlink and on Millrace.

    python kafka_program.py KIND '{"bootstrap": .., "small": TOPIC, "large": TOPIC, "out": TOPIC, "rows": N, "jar": ""}'

Each is run twice on little input, then on all of it as often as ``turns`` says; what is printed are the seconds of the
large runs beyond those of the small one, so that no side pays for its start.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

if "pyflink" not in sys.modules and "--millrace" in sys.argv:
    import millrace

    millrace.activate()

from pyflink.common import Configuration, SimpleStringSchema, Types, WatermarkStrategy
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.datastream.connectors.kafka import KafkaOffsetsInitializer, KafkaSource
from pyflink.table import StreamTableEnvironment

SMALL_ROWS = 1_000
COLUMNS = "id BIGINT, `user` INT, kind STRING, price DOUBLE, ts TIMESTAMP(3), note STRING"


def environment(given: dict[str, Any]) -> tuple[StreamExecutionEnvironment, StreamTableEnvironment]:
    configuration = Configuration()
    if given.get("jar"):
        configuration.set_string("pipeline.jars", f"file://{given['jar']}")
    configuration.set_string("execution.checkpointing.interval", "10 s")
    configuration.set_string("table.exec.source.idle-timeout", "1 s")
    configuration.set_string("table.local-time-zone", "UTC")
    if given.get("execution"):
        configuration.set_string("millrace.epoch.execution", given["execution"])
    if given.get("mode"):
        configuration.set_string("python.execution-mode", given["mode"])
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.set_parallelism(2)
    return env, StreamTableEnvironment.create(env)


def with_of(given: dict[str, Any], topic: str, more: str) -> str:
    return (
        f"'connector' = 'kafka', 'properties.bootstrap.servers' = '{given['bootstrap']}', 'topic' = '{topic}', "
        f"'format' = 'json', {more}"
    )


def window(given: dict[str, Any], small: bool) -> float:
    """JSON records of a topic, counted by user in windows of ten seconds."""
    _, tables = environment(given)
    where = with_of(
        given,
        given["small" if small else "large"],
        "'scan.startup.mode' = 'earliest-offset', 'scan.bounded.mode' = 'latest-offset'",
    )
    tables.execute_sql(f"CREATE TABLE src ({COLUMNS}, WATERMARK FOR ts AS ts - INTERVAL '1' SECOND) WITH ({where})")
    tables.execute_sql("CREATE TABLE snk (u INT, s TIMESTAMP(3), n BIGINT) WITH ('connector' = 'blackhole')")
    return timed(
        tables,
        "INSERT INTO snk SELECT `user`, window_start, COUNT(*) FROM TABLE(TUMBLE(TABLE src, DESCRIPTOR(ts), "
        "INTERVAL '10' SECOND)) GROUP BY `user`, window_start, window_end",
    )


def written(given: dict[str, Any], small: bool, more: str) -> float:
    """Generated rows as JSON into a topic."""
    _, tables = environment(given)
    rows = SMALL_ROWS if small else given["rows"]
    tables.execute_sql(
        "CREATE TABLE src (id BIGINT) WITH ('connector' = 'datagen', 'rows-per-second' = '100000000', "
        f"'number-of-rows' = '{rows}', 'fields.id.kind' = 'sequence', 'fields.id.start' = '1', "
        f"'fields.id.end' = '{rows}')"
    )
    where = with_of(given, given["out"], more)
    tables.execute_sql(f"CREATE TABLE snk (id BIGINT, price DOUBLE, note STRING) WITH ({where})")
    note = "a note of ninety characters or so, " * 2 + "the same one in every record"
    return timed(tables, f"INSERT INTO snk SELECT id, id * 0.5E0, '{note}' FROM src")


def at_least_once(given: dict[str, Any], small: bool) -> float:
    return written(given, small, "'sink.delivery-guarantee' = 'at-least-once'")


def exactly_once(given: dict[str, Any], small: bool) -> float:
    more = f"'sink.transactional-id-prefix' = 'bench-{time.time_ns()}', 'properties.transaction.timeout.ms' = '600000'"
    return written(given, small, f"'sink.delivery-guarantee' = 'exactly-once', {more}")


def stream(given: dict[str, Any], small: bool) -> tuple[StreamExecutionEnvironment, Any]:
    env, _ = environment(given)
    source = KafkaSource.builder().set_bootstrap_servers(given["bootstrap"])
    source.set_topics(given["small" if small else "large"]).set_starting_offsets(KafkaOffsetsInitializer.earliest())
    source.set_bounded(KafkaOffsetsInitializer.latest()).set_value_only_deserializer(SimpleStringSchema())
    return env, env.from_source(source.build(), WatermarkStrategy.no_watermarks(), "topic")


def mapped(given: dict[str, Any], small: bool) -> float:
    """Texts of a topic through a function in Python, and forgotten."""
    env, texts = stream(given, small)
    texts.map(len, Types.INT()).filter(lambda length: length < 0).print()
    return executed(env)


def plain(given: dict[str, Any], small: bool) -> float:
    """Values of a topic as texts, into a table that forgets them."""
    _, tables = environment(given)
    where = with_of(
        given,
        given["small" if small else "large"],
        "'scan.startup.mode' = 'earliest-offset', 'scan.bounded.mode' = 'latest-offset'",
    ).replace("'format' = 'json'", "'format' = 'raw'")
    tables.execute_sql(f"CREATE TABLE src (v STRING) WITH ({where})")
    tables.execute_sql("CREATE TABLE snk (v STRING) WITH ('connector' = 'blackhole')")
    return timed(tables, "INSERT INTO snk SELECT v FROM src")


def executed(env: StreamExecutionEnvironment) -> float:
    began = time.perf_counter()
    env.execute()
    return time.perf_counter() - began


def timed(tables: StreamTableEnvironment, statement: str) -> float:
    began = time.perf_counter()
    tables.execute_sql(statement).wait()
    return time.perf_counter() - began


KINDS = {
    "window": window,
    "mapped": mapped,
    "plain": plain,
    "at-least-once": at_least_once,
    "exactly-once": exactly_once,
}


def main() -> None:
    run, given = KINDS[sys.argv[1]], json.loads(sys.argv[2])
    run(given, True)
    start = min(run(given, True) for _ in range(2))
    took = [run(given, False) - start for _ in range(given["turns"])]
    print("seconds", json.dumps(took), flush=True)


if __name__ == "__main__":
    main()
