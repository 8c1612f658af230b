"""What the visitors of a shop do, in SQL: buys an hour, visitors so far, the categories that sell best.

    python examples/user_behavior.py [FOLDER]

A day of made-up events (views, carts, favourites, buys) is written to FOLDER as JSON lines, the names of the categories
into a SQLite file. Three queries run as one job: two write CSV files, the third prints its changes. A connector in
Python looks the categories up.
"""

from __future__ import annotations

import json
import os
import random
import sqlite3
import sys
import tempfile
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any

from millrace.relational.sources import LookupTableSource, TableContext, TableFactory
from millrace.table import EnvironmentSettings, StatementSet, TableEnvironment

DAY = datetime(2024, 5, 6)
CATEGORIES = ["Books", "Clothes", "Food", "Games", "Garden", "Kitchen", "Music", "Shoes", "Sports", "Toys"]
BEHAVIORS = {"pv": 90, "cart": 6, "fav": 2, "buy": 2}
OUT_OF_ORDER_S = 5


def write_events(folder: str, count: int, seed: int = 1) -> None:
    """The events of a day, up to five seconds out of order, and the categories."""
    draw = random.Random(seed)
    # More goes on in the evening, and some categories are liked more than others.
    seconds = sorted(int(86_400 * draw.betavariate(3, 2)) for _ in range(count))
    users = max(1, count // 20)
    with open(os.path.join(folder, "events.json"), "w", encoding="utf-8") as file:
        for second in seconds:
            late = timedelta(seconds=second - draw.randrange(OUT_OF_ORDER_S))
            category = min(draw.randrange(len(CATEGORIES)), draw.randrange(len(CATEGORIES) + 2))
            event = {
                "user_id": draw.randrange(users),
                "item_id": category * 1000 + draw.randrange(1000),
                "category_id": category,
                "behavior": draw.choices(list(BEHAVIORS), list(BEHAVIORS.values()))[0],
                "ts": max(DAY, DAY + late).strftime("%Y-%m-%d %H:%M:%S"),
            }
            file.write(json.dumps(event) + "\n")
    with sqlite3.connect(os.path.join(folder, "shop.db")) as database:
        database.execute("CREATE TABLE category (category_id INTEGER PRIMARY KEY, category_name TEXT)")
        database.executemany("INSERT INTO category VALUES (?, ?)", enumerate(CATEGORIES))
    database.close()


# -- a connector ----------------------------------------------------------------------------------------------------


class SqliteLookup(LookupTableSource):
    """Finds rows of a table of a SQLite file by key. Lives in the tasks."""

    def __init__(self, path: str, table: str, columns: Sequence[str], key: Sequence[str]) -> None:
        self._path = path
        where = " AND ".join(f"{name} = ?" for name in key)
        self._query = f"SELECT {', '.join(columns)} FROM {table} WHERE {where}"

    def open(self) -> None:
        self._database = sqlite3.connect(self._path)

    def lookup(self, keys: Sequence[tuple[Any, ...]]) -> Iterable[Sequence[tuple[Any, ...]]]:
        return [self._database.execute(self._query, key).fetchall() for key in keys]

    def close(self) -> None:
        self._database.close()


class SqliteFactory(TableFactory):
    """WITH ('connector' = 'sqlite', 'path' = FILE, 'table' = NAME)"""

    identifier = "sqlite"
    required = ("path", "table")

    def lookup_source(self, table: TableContext, key: Sequence[int]) -> LookupTableSource:
        names = [column.name for column in table.columns]
        return SqliteLookup(table.options["path"], table.options["table"], names, [names[place] for place in key])


# -- the program ----------------------------------------------------------------------------------------------------

TABLES = """
    CREATE TABLE user_behavior (
        user_id BIGINT, item_id BIGINT, category_id BIGINT, behavior STRING, ts TIMESTAMP(3),
        seen AS PROCTIME(),
        WATERMARK FOR ts AS ts - INTERVAL '5' SECOND
    ) WITH ('connector' = 'filesystem', 'path' = '{folder}/events.json', 'format' = 'json');

    CREATE TABLE category (
        category_id BIGINT, category_name STRING, PRIMARY KEY (category_id) NOT ENFORCED
    ) WITH ('connector' = 'sqlite', 'path' = '{folder}/shop.db', 'table' = 'category');

    CREATE TABLE buys_per_hour (hour_of_day BIGINT, buys BIGINT)
    WITH ('connector' = 'filesystem', 'path' = '{folder}/buys_per_hour', 'format' = 'csv');

    CREATE TABLE visitors_so_far (until TIMESTAMP(3), visitors BIGINT)
    WITH ('connector' = 'filesystem', 'path' = '{folder}/visitors_so_far', 'format' = 'csv');

    CREATE TABLE top_categories (place BIGINT, category_name STRING, buys BIGINT)
    WITH ('connector' = 'print')
"""

QUERIES = """
    INSERT INTO buys_per_hour
    SELECT HOUR(window_start), COUNT(*)
    FROM TABLE(TUMBLE(TABLE user_behavior, DESCRIPTOR(ts), INTERVAL '1' HOUR))
    WHERE behavior = 'buy'
    GROUP BY window_start, window_end;

    INSERT INTO visitors_so_far
    SELECT window_end, COUNT(DISTINCT user_id)
    FROM TABLE(CUMULATE(TABLE user_behavior, DESCRIPTOR(ts), INTERVAL '10' MINUTE, INTERVAL '1' DAY))
    GROUP BY window_start, window_end;

    INSERT INTO top_categories
    SELECT place, category_name, buys FROM (
        SELECT *, ROW_NUMBER() OVER (ORDER BY buys DESC, category_name) AS place FROM (
            SELECT category_name, COUNT(*) AS buys
            FROM user_behavior AS b
            JOIN category FOR SYSTEM_TIME AS OF b.seen AS c ON b.category_id = c.category_id
            WHERE behavior = 'buy'
            GROUP BY category_name
        )
    ) WHERE place <= 3
"""


def statements(folder: str, settings: EnvironmentSettings | None = None) -> StatementSet:
    """The three queries over the files of a folder, to be executed as one job."""
    t_env = TableEnvironment.create(settings or EnvironmentSettings.in_streaming_mode())
    t_env.register_connector(SqliteFactory)
    for statement in TABLES.format(folder=folder).split(";"):
        t_env.execute_sql(statement)
    made = t_env.create_statement_set()
    for query in QUERIES.split(";"):
        made.add_insert_sql(query)
    return made


def lines_of(folder: str) -> list[str]:
    """The lines of all files that a sink has finished."""
    names = [name for name in sorted(os.listdir(folder)) if not name.startswith((".", "_"))]
    lines: list[str] = []
    for name in names:
        with open(os.path.join(folder, name), encoding="utf-8") as file:
            lines += file.read().splitlines()
    return lines


def main(folder: str) -> None:
    write_events(folder, 50_000)
    print("The three best categories, as they change:")
    statements(folder).execute().wait()
    print(
        "Buys an hour:",
        *sorted(lines_of(os.path.join(folder, "buys_per_hour")), key=lambda line: int(line.split(",")[0])),
    )
    print("Visitors until midnight:", max(lines_of(os.path.join(folder, "visitors_so_far"))))


if __name__ == "__main__":
    if len(sys.argv) > 1:
        os.makedirs(sys.argv[1], exist_ok=True)
        main(sys.argv[1])
    else:
        with tempfile.TemporaryDirectory() as temporary:
            main(temporary)
