"""Kafka in batch mode: a bounded table of ours, and the same topic through Spark's own Kafka source.

    python -m benchmarks.kafka_batch [--rows 1000000] [--turns 3]

One broker, JSON of about 150 bytes in four partitions, two cores for each side, one side after the other. Both add up
a column of six. Seconds are beyond those of a small topic, so that none pays for its start.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time

from benchmarks.kafka_throughput import SMALL_ROWS, fill
from millrace.testing.services import Kafka
from millrace.testing.services.downloads import jars

READER = "org.apache.spark:spark-sql-kafka-0-10_2.13:4.2.0"
"""the newest there is; it runs on 4.3"""
COLUMNS = "id BIGINT, `user` INT, kind STRING, price DOUBLE, ts TIMESTAMP(3), note STRING"


def ours(bootstrap: str, topic: str) -> tuple[int, float]:
    from millrace.table import EnvironmentSettings, TableEnvironment

    tables = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
    tables.get_config().set("parallelism.default", "2")
    tables.execute_sql(
        f"CREATE TEMPORARY TABLE src ({COLUMNS}) WITH ('connector' = 'kafka', 'format' = 'json', 'topic' = '{topic}', "
        f"'properties.bootstrap.servers' = '{bootstrap}', 'scan.startup.mode' = 'earliest-offset', "
        "'scan.bounded.mode' = 'latest-offset')"
    )
    with tables.execute_sql("SELECT COUNT(*), SUM(price) FROM src").collect() as rows:
        ((count, total),) = rows
    return count, total


def sparks(bootstrap: str, topic: str) -> tuple[int, float]:
    from pyspark.sql import SparkSession

    folder = jars("spark-kafka", READER)
    builder = SparkSession.builder.master("local[2]").config("spark.driver.extraClassPath", f"{folder}/*")
    spark = builder.config("spark.ui.enabled", "false").config("spark.log.level", "ERROR").getOrCreate()
    records = spark.read.format("kafka").option("kafka.bootstrap.servers", bootstrap).option("subscribe", topic).load()
    schema = COLUMNS.replace("TIMESTAMP(3)", "TIMESTAMP_NTZ")
    records.createOrReplaceTempView("records")
    query = f"SELECT from_json(CAST(value AS STRING), '{schema}') AS r FROM records"
    ((count, total),) = spark.sql(f"SELECT COUNT(*), SUM(r.price) FROM ({query})").collect()
    return count, total


SIDES = {"ours": ours, "Spark's": sparks}


def side(name: str, bootstrap: str, turns: int) -> None:
    """In a process of its own."""
    query, took = SIDES[name], []
    for topic in ["small"] * 3 + ["large"] * turns:
        began = time.perf_counter()
        found = query(bootstrap, topic)
        took.append(time.perf_counter() - began)
    start = min(took[1:3])
    print("result", json.dumps([found[0], round(found[1], 2), [each - start for each in took[3:]]]), flush=True)


def measured(name: str, bootstrap: str, turns: int) -> tuple[list[object], list[float]]:
    command = [sys.executable, "-m", "benchmarks.kafka_batch", "--side", name, bootstrap, "--turns", str(turns)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=dict(os.environ))
    line = next((each for each in done.stdout.splitlines() if each.startswith("result ")), None)
    if line is None:
        raise RuntimeError(f"{name} failed:\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}")
    count, total, seconds = json.loads(line.removeprefix("result "))
    return [count, total], seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--side", nargs=2)
    given = parser.parse_args()
    if given.side:
        side(*given.side, given.turns)
        return
    with Kafka() as broker:
        fill(broker.bootstrap, given.rows)
        answers, rates = {}, {}
        for name in SIDES:
            answers[name], seconds = measured(name, broker.bootstrap, given.turns)
            rates[name] = [given.rows / each for each in seconds]
            print(f"{name}: {statistics.median(rates[name]):,.0f} rows/s", flush=True)
    assert answers["ours"] == answers["Spark's"], answers
    assert answers["ours"][0] == given.rows > SMALL_ROWS
    mine, other = (statistics.median(rates[name]) for name in SIDES)
    print(f"ratio {mine / other:.2f}")


if __name__ == "__main__":
    main()
