"""What ``make demo-kafka`` runs: a real Kafka broker, a job from topic to topic, exactly once.

    python examples/kafka_exactly_once.py [EVENTS]

Starts Apache Kafka on this machine, writes a day of a shop's events into a topic with four partitions, and runs a query
that counts what visitors do, hour by hour of event time, into another topic, in transactions. Then it reads the result
as any other program would, which sees only what was committed, and compares it with a count in plain Python.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import user_behavior
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic
from rich.console import Console
from rich.table import Table

from millrace.table import EnvironmentSettings, TableEnvironment
from millrace.testing.services import Kafka, ServiceUnavailable

EVENTS = 100_000
PARTITIONS = 4
console = Console(highlight=False)

QUERY = """
INSERT INTO hourly
SELECT window_end, COUNT(*), COUNT(*) FILTER (WHERE behavior = 'buy'), COUNT(DISTINCT user_id)
FROM TABLE(TUMBLE(TABLE events, DESCRIPTOR(ts), INTERVAL '1' HOUR))
GROUP BY window_start, window_end
"""


def fill(bootstrap: str, folder: Path, count: int) -> Counter[str]:
    """Write the events; how many there are in each hour."""
    admin = AdminClient({"bootstrap.servers": bootstrap})
    for each in admin.create_topics([NewTopic("events", PARTITIONS), NewTopic("hourly", 1)]).values():
        each.result()
    user_behavior.write_events(str(folder), count)
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 20, "queue.buffering.max.messages": 1_000_000})
    hours: Counter[str] = Counter()
    for number, line in enumerate((folder / "events.json").read_text().splitlines()):
        producer.produce("events", line, partition=number % PARTITIONS)
        hours[json.loads(line)["ts"][:13]] += 1
    producer.flush()
    return hours


def run(bootstrap: str) -> None:
    environment = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    environment.get_config().set("parallelism.default", "2")
    where = f"'connector' = 'kafka', 'properties.bootstrap.servers' = '{bootstrap}', 'format' = 'json'"
    environment.execute_sql(f"""
        CREATE TABLE events (
            user_id BIGINT, item_id BIGINT, category_id INT, behavior STRING, ts TIMESTAMP(3),
            WATERMARK FOR ts AS ts - INTERVAL '10' SECOND
        ) WITH ({where}, 'topic' = 'events', 'scan.startup.mode' = 'earliest-offset',
                'scan.bounded.mode' = 'latest-offset')""")
    environment.execute_sql(f"""
        CREATE TABLE hourly (hour_end TIMESTAMP(3), events BIGINT, buys BIGINT, visitors BIGINT)
        WITH ({where}, 'topic' = 'hourly', 'sink.delivery-guarantee' = 'exactly-once',
              'sink.transactional-id-prefix' = 'demo')""")
    environment.execute_sql(QUERY).wait()


def committed(bootstrap: str) -> list[dict[str, str | int]]:
    """What a consumer of the result sees, in plain Python."""
    consumer = Consumer({
        "bootstrap.servers": bootstrap, "group.id": "demo", "isolation.level": "read_committed",
        "enable.partition.eof": True,
    })  # fmt: skip
    consumer.assign([TopicPartition("hourly", 0, 0)])
    rows: list[dict[str, str | int]] = []
    while (message := consumer.poll(10)) is not None and message.error() is None:
        rows.append(json.loads(message.value() or b""))
    consumer.close()
    return sorted(rows, key=lambda row: str(row["hour_end"]))


def show(rows: list[dict[str, str | int]]) -> None:
    table = Table(header_style="bold")
    for title in ("hour until", "events", "buys", "visitors"):
        table.add_column(title, justify="left" if title == "hour until" else "right")
    for row in rows:
        table.add_row(str(row["hour_end"]), *(f"{row[name]:,}" for name in ("events", "buys", "visitors")))
    console.print(table)


def main() -> int:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else EVENTS
    console.print("Starting Apache Kafka. Its jars (43 MB) come from Maven Central the first time.")
    try:
        broker = Kafka().start()
    except ServiceUnavailable as error:
        console.print(str(error))
        return 1
    with broker, tempfile.TemporaryDirectory() as folder:
        console.print(f"A broker listens at {broker.bootstrap}. Writing {count:,} events into {PARTITIONS} partitions.")
        hours = fill(broker.bootstrap, Path(folder), count)
        console.print("The query reads them, counts by the hour, and writes in transactions:")
        console.print(QUERY.strip(), style="dim")
        began = time.monotonic()
        run(broker.bootstrap)
        seconds = time.monotonic() - began
        rows = committed(broker.bootstrap)
        show(rows)
        same = sorted(int(row["events"]) for row in rows) == sorted(hours.values())
        console.print(f"{count:,} events took {seconds:.1f} s, with the start of Spark in it.")
        console.print("Every event was counted once." if same else "The counts are WRONG: please tell us.")
        return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
