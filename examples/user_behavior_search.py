"""What ``make demo-search`` runs: a shop's events from Kafka, names from a database, results in OpenSearch, as charts.

    python examples/user_behavior_search.py [EVENTS] [--leave]

Starts Apache Kafka, MariaDB (in MySQL's place) and OpenSearch on this machine, writes a day of events into a topic and
the categories into a table, and runs three queries as one job: buys an hour, visitors so far every ten minutes, and the
categories that sell best, whose names are looked up in the database. Each keeps its result in an index. A web page
draws them while the job runs. With --leave all of it ends when the job does.
"""

from __future__ import annotations

import sys
import tempfile
import threading
import time
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path

import pymysql
import user_behavior
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic
from rich.console import Console
from shop_page.page import served

from millrace.table import EnvironmentSettings, StatementSet, TableEnvironment
from millrace.testing.services import Kafka, MariaDB, OpenSearch, ServiceUnavailable

EVENTS = 100_000
PARTITIONS = 4
ABOVE = {"Leisure": "Books Games Music Toys", "Outdoors": "Sports Garden", "Fashion": "Clothes Shoes",
         "Home": "Food Kitchen"}  # fmt: skip
PARENTS = {name: parent for parent, names in ABOVE.items() for name in names.split()}
"""category -> the one above it"""
console = Console(highlight=False)

TABLES = """
    CREATE TABLE user_behavior (
        user_id BIGINT, item_id BIGINT, category_id BIGINT, behavior STRING, ts TIMESTAMP(3),
        proctime AS PROCTIME(),
        WATERMARK FOR ts AS ts - INTERVAL '10' SECOND
    ) WITH ('connector' = 'kafka', 'properties.bootstrap.servers' = '{bootstrap}', 'topic' = '{topic}',
            'scan.startup.mode' = 'earliest-offset', 'scan.bounded.mode' = 'latest-offset', 'format' = 'json');

    CREATE TABLE category_dim (sub_category_id BIGINT, parent_category_name STRING)
    WITH ('connector' = 'jdbc', 'url' = '{database}', 'table-name' = 'category', 'username' = '{user}',
          'password' = '{password}', 'lookup.cache' = 'PARTIAL', 'lookup.partial-cache.max-rows' = '5000',
          'lookup.partial-cache.expire-after-write' = '10 min');

    CREATE TABLE buy_cnt_per_hour (hour_of_day BIGINT, buy_cnt BIGINT, PRIMARY KEY (hour_of_day) NOT ENFORCED)
    WITH ('connector' = 'opensearch', 'hosts' = '{search}', 'index' = '{prefix}buy_cnt_per_hour');

    CREATE TABLE cumulative_uv (
        date_str STRING, time_str STRING, uv BIGINT, PRIMARY KEY (date_str, time_str) NOT ENFORCED
    ) WITH ('connector' = 'opensearch', 'hosts' = '{search}', 'index' = '{prefix}cumulative_uv');

    CREATE TABLE top_category (category_name STRING, buy_cnt BIGINT, PRIMARY KEY (category_name) NOT ENFORCED)
    WITH ('connector' = 'opensearch', 'hosts' = '{search}', 'index' = '{prefix}top_category');

    CREATE VIEW rich_user_behavior AS
    SELECT U.user_id, U.behavior,
           CASE WHEN C.parent_category_name IS NULL THEN 'Other' ELSE C.parent_category_name END AS category_name
    FROM user_behavior AS U
    LEFT JOIN category_dim FOR SYSTEM_TIME AS OF U.proctime AS C ON U.category_id = C.sub_category_id
"""

QUERIES = """
    INSERT INTO buy_cnt_per_hour
    SELECT HOUR(window_start), COUNT(*)
    FROM TABLE(TUMBLE(TABLE user_behavior, DESCRIPTOR(ts), INTERVAL '1' HOUR))
    WHERE behavior = 'buy'
    GROUP BY window_start, window_end;

    INSERT INTO cumulative_uv
    SELECT DATE_FORMAT(window_time, 'yyyy-MM-dd'), SUBSTR(DATE_FORMAT(window_time, 'HH:mm'), 1, 4) || '0',
           COUNT(DISTINCT user_id)
    FROM TABLE(CUMULATE(TABLE user_behavior, DESCRIPTOR(ts), INTERVAL '10' MINUTE, INTERVAL '1' DAY))
    GROUP BY window_start, window_end, window_time;

    INSERT INTO top_category
    SELECT category_name, COUNT(*) FROM rich_user_behavior WHERE behavior = 'buy' GROUP BY category_name
"""


def write_topic(bootstrap: str, topic: str, lines: list[str]) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap})
    for each in admin.create_topics([NewTopic(topic, PARTITIONS)]).values():
        each.result()
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 20, "queue.buffering.max.messages": 1_000_000})
    for number, line in enumerate(lines):
        producer.produce(topic, line, partition=number % PARTITIONS)
    producer.flush()


def write_categories(database: MariaDB) -> None:
    """All but the last one: what is not in the table is 'Other'."""
    where = {"host": "127.0.0.1", "port": database.port, "database": database.database}
    with pymysql.connect(user=database.user, password=database.password, **where) as connection:
        with connection.cursor() as cursor:
            cursor.execute("DROP TABLE IF EXISTS category")
            cursor.execute(
                "CREATE TABLE category (sub_category_id BIGINT PRIMARY KEY, parent_category_name VARCHAR(30))"
            )
            known = [(number, PARENTS[name]) for number, name in enumerate(user_behavior.CATEGORIES[:-1])]
            cursor.executemany("INSERT INTO category VALUES (%s, %s)", known)
        connection.commit()


def statements(
    bootstrap: str, topic: str, database: MariaDB, search: str, prefix: str = "", settings: Mapping[str, str] = {}
) -> StatementSet:
    """The three queries, to be executed as one job.

    :param prefix: of the names of the indexes.
    :param settings: of the job, by key.
    """
    environment = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    for key, value in {"parallelism.default": "2", **settings}.items():
        environment.get_config().set(key, value)
    tables = TABLES.format(
        bootstrap=bootstrap,
        topic=topic,
        database=database.jdbc_url,
        user=database.user,
        password=database.password,
        search=search,
        prefix=prefix,
    )
    for statement in tables.split(";"):
        environment.execute_sql(statement)
    made = environment.create_statement_set()
    for query in QUERIES.split(";"):
        made.add_insert_sql(query)
    return made


def main() -> int:
    leave = "--leave" in sys.argv
    counts = [each for each in sys.argv[1:] if each != "--leave"]
    count = int(counts[0]) if counts else EVENTS
    console.print("Starting Kafka, MariaDB and OpenSearch. Jars (96 MB) come from Maven Central the first time.")
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        try:
            kafka = stack.enter_context(Kafka())
            database = stack.enter_context(MariaDB())
            search = stack.enter_context(OpenSearch())
        except ServiceUnavailable as error:
            console.print(str(error))
            return 1
        console.print(f"Writing {count:,} events into {PARTITIONS} partitions of a topic.")
        user_behavior.write_events(str(folder), count)
        write_topic(kafka.bootstrap, "user_behavior", (folder / "events.json").read_text().splitlines())
        write_categories(database)
        page = stack.enter_context(served(search.url))
        console.print(f"The charts are at {page}, and grow while the job runs.")
        began = time.monotonic()
        statements(kafka.bootstrap, "user_behavior", database, search.url).execute().wait()
        console.print(f"{count:,} events took {time.monotonic() - began:.1f} s, with the start of Spark in it.")
        if not leave:
            console.print("Ctrl-C ends this.")
            try:
                threading.Event().wait()
            except KeyboardInterrupt:
                pass
    return 0


if __name__ == "__main__":
    sys.exit(main())
