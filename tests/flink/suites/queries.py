"""Asks Millrace the queries of Flink's tests that run: over the same rows they give what Flink gave."""

from __future__ import annotations

import datetime as dt
import hashlib
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any

from tests.flink.asking import Asked, same, sorted_rows, streamed, table_of
from tests.flink.suites.reading import lines, plain, short, type_of
from tests.flink.suites.tables import DECLARED

from millrace.relational import types as t
from millrace.table import EnvironmentSettings, TableEnvironment

ZONE = "UTC"
ROWS, MARK = " rows", " mark"
"""what is added to the name of a table, and the column of its watermarks"""
OF_TIME = re.compile(r"\b(TUMBLE|HOP|SESSION|CUMULATE)\s*\(|MATCH_RECOGNIZE|\bOVER\b", re.IGNORECASE)
WITH_TIME = re.compile(r"\bWATERMARK\b|\bPROCTIME\s*\(", re.IGNORECASE)
IN_PARTS = {"stream": 3, "batch": 2}
"""parts of a table whose rows have no time"""
PLANNING = ("table.optimizer.", "table.generated-code.")
BATCHED, BATCHED_ONLY = 40, 4
"""of so many queries of batch mode one is asked on Spark: that is what there is time for; and of so many of those that
streaming mode has no meaning for"""
START = dt.datetime(1970, 1, 1)


@dataclass(frozen=True)
class Query:
    """A query over the tables of a test."""

    key: str
    test: str
    tables: Mapping[str, Any] = field(compare=False)
    found: Mapping[str, Any] = field(compare=False)

    @property
    def suite(self) -> str:
        return self.test.split(".")[0]

    @property
    def in_streaming(self) -> bool:
        """Whether it is asked in streaming mode: all queries of streams, and those of batch mode that have a meaning
        there. Columns of time without watermarks have none."""
        return not self.suite.startswith("batch/") or not any(map(OF_TIME.search, self._texts()))

    def _texts(self) -> Iterator[str]:
        yield self.found.get("sql", "")
        for name in self.names:
            yield self.tables[name].get("view", "")

    @property
    def in_batch(self) -> bool:
        """Whether it is asked on Spark: some of those that are asked nowhere else, and a few of the others, as each of
        them is a job."""
        many = BATCHED if self.in_streaming else BATCHED_ONLY
        return self.suite.startswith("batch/") and ("MatchRecognize" in self.suite or self._is_one_of(many))

    def _is_one_of(self, many: int) -> bool:
        return int(hashlib.md5(self.key.encode()).hexdigest()[:4], 16) % many == 0

    @cached_property
    def batches(self) -> int:
        """In how many parts each table comes; 0: each row on its own, where there are watermarks and times of rows."""
        texts = [*self._texts(), *(self.tables[name].get("ddl", "") for name in self.names)]
        times = [time for name in self.names for _, _, time in self.tables[name].get("columns", ())]
        if any(times) or any(map(WITH_TIME.search, texts)):
            return 0
        return IN_PARTS[self.suite.split("/")[0]]

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The tables that it reads, those that views read before the views."""
        names: dict[str, None] = {}

        def add(name: str) -> None:
            for each in self.tables[name].get("from", ()):
                add(each)
            names.setdefault(name)

        for name in self.found.get("from", ()):
            add(name)
        return tuple(names)

    @cached_property
    def left(self) -> str:
        """Why it cannot be asked; empty if it can."""
        parts = [self.found, *(self.tables[name] for name in self.names)]
        if any("functions" in part for part in parts):
            return "functions in Java"
        if unread := [part["unread"] for part in parts if "unread" in part]:
            return _left(unread[0])
        if any(re.search(r"`default_database`\.`?\w+`?\(", part.get("ddl", "")) for part in parts):
            return "functions in Java"
        if any(" METADATA" in part.get("ddl", "") for part in parts):
            return "metadata of a connector that is there for Flink's tests only"
        kinds = [*self.found.get("types", ()), *(kind for part in parts for _, kind, _ in part.get("columns", ()))]
        if any(type_of(kind) is None for kind in kinds):
            return "values of Java's classes"
        return ""


def _left(why: str) -> str:
    if why in ("it does not end", "too many rows", "what Flink writes of the Table API in SQL is not what it reads"):
        return why
    return "the recorder could not read it"


def queries() -> list[Query]:
    """Each query of a test once: some tests ask the same in several ways."""
    found: dict[str, Query] = {}
    for line in lines("queries"):
        test = f"{line['suite']}.{line['set']}"
        for recorded in line["queries"]:
            query = {**recorded, "config": _config(recorded)}
            text = query.get("sql", "")
            key = short(f"{test}: {text}")
            count = 1
            while key in found and found[key].found != query:
                count += 1
                key = f"{short(f'{test}: {text}')} #{count}"
            found.setdefault(key, Query(key, test, line["tables"], query))
    return list(found.values())


def _config(recorded: Mapping[str, Any]) -> dict[str, str]:
    """The settings of a query but those that only say how Flink plans: with others a test asks the same once more."""
    found: Mapping[str, str] = recorded.get("config", {})
    return {key: value for key, value in found.items() if not key.startswith(PLANNING)}


@dataclass
class Made:
    """An environment with tables, which the queries of a suite share as long as they are the same."""

    tables: TableEnvironment
    definitions: dict[str, Any] = field(default_factory=dict)


def asked(query: Query, settings: EnvironmentSettings) -> Asked:
    """Its plan, over the tables of its test."""
    config = tuple(query.found["config"].items())
    made = _made(query.suite, query.batches, settings.is_streaming_mode(), config)
    for name in query.names:
        definition = _definition(query, name)
        if made.definitions.get(name) != definition:
            _drop(made, name)
            _create(made.tables, name, query)
            made.definitions[name] = definition
    return Asked(made.tables, made.tables.sql_query(query.found["sql"])._plan)


@lru_cache(maxsize=4)  # a suite has tests with few settings
def _made(suite: str, batches: int, streaming: bool, config: tuple[tuple[str, str], ...]) -> Made:
    settings = EnvironmentSettings.in_streaming_mode() if streaming else EnvironmentSettings.in_batch_mode()
    tables = TableEnvironment.create(settings)
    tables.get_config().set_local_timezone(ZONE)
    for key, value in config:
        tables.get_config().set(key, value)
    return Made(tables)


def _definition(query: Query, name: str) -> Any:
    """What a table is, with what a view is made of."""
    return query.tables[name], [_definition(query, each) for each in query.tables[name].get("from", ())]


def _drop(made: Made, name: str) -> None:
    if name in made.definitions:
        kind = "VIEW" if _is_view(made.definitions.pop(name)[0]) else "TABLE"
        made.tables.execute_sql(f"DROP TEMPORARY {kind} `{name}`")


def _is_view(table: Mapping[str, Any]) -> bool:
    return "view" in table or ("ddl" not in table and _has_times(table))


def _has_times(table: Mapping[str, Any]) -> bool:
    return any(time for _, _, time in table["columns"])


def _create(tables: TableEnvironment, name: str, query: Query) -> None:
    table = query.tables[name]
    if "view" in table:
        columns = ", ".join(f"`{each}`" for each in table["names"])
        tables.execute_sql(f"CREATE TEMPORARY VIEW `{name}` ({columns}) AS {table['view']}")
        return
    place = f"{query.test}/{name}"
    DECLARED[place] = table["rows"]
    options = f"'connector' = 'flink-values', 'id' = '{place}', 'batches' = '{query.batches}'"
    mode = table.get("changelog-mode")
    if mode is None and any(kind != "+I" for kind, _ in table["rows"]):
        mode = "I,UB,UA,D"
    if mode is not None:
        options += f", 'changelog-mode' = '{mode}'"
    if "ddl" in table:
        text = re.sub(r"^CREATE (TEMPORARY )?TABLE `\w+`\.`\w+`\.", "CREATE TEMPORARY TABLE ", table["ddl"])
        tables.execute_sql(f"{text} WITH ({options})")
        return
    if not _has_times(table):
        tables.execute_sql(f"CREATE TEMPORARY TABLE `{name}` ({', '.join(_columns(table))}) WITH ({options})")
        return
    DECLARED[place] = _with_marks(table)
    rows = f"{name}{ROWS}"
    tables.execute_sql(f"DROP TEMPORARY TABLE IF EXISTS `{rows}`")
    tables.execute_sql(f"CREATE TEMPORARY TABLE `{rows}` ({', '.join(_columns(table))}) WITH ({options})")
    names = ", ".join(f"`{column}`" for column, _, _ in table["columns"])
    tables.execute_sql(f"CREATE TEMPORARY VIEW `{name}` AS SELECT {names} FROM `{rows}`")


def _columns(table: Mapping[str, Any]) -> Iterator[str]:
    """The columns of a table of a stream, and the watermark after each row."""
    for name, kind, time in table["columns"]:
        yield f"`{name}` AS PROCTIME()" if time == "proctime" else f"`{name}` {kind}"
        if time == "rowtime":
            yield f"`{MARK}` {kind}"
            yield f"WATERMARK FOR `{name}` AS `{MARK}`"


def _with_marks(table: Mapping[str, Any]) -> list[list[Any]]:
    """The rows with the watermarks after them; what was recorded is the watermark before each."""
    marks = [*table.get("watermarks", [""] * len(table["rows"]))[1:], ""]
    times = [time for _, _, time in table["columns"]]
    return [
        [kind, [each for cell, time in zip(cells, times) for each in _cells(cell, time, mark)]]
        for mark, (kind, cells) in zip(marks, table["rows"])
    ]


def _cells(cell: Any, time: str, mark: Any) -> list[Any]:
    if time == "proctime":
        return []
    if time != "rowtime":
        return [cell]
    end = "Z" if cell and cell["text"].endswith("Z") else ""
    return [cell, None if mark == "" else {"text": f"{START + dt.timedelta(milliseconds=mark)}{end}"}]


# -- comparing --------------------------------------------------------------------------------------------------------


def difference(query: Query) -> str:
    """What is not as with Flink in streaming mode; empty if nothing is."""
    return _difference(query, EnvironmentSettings.in_streaming_mode(), lambda one: _table(streamed(one)))


def batch_difference(query: Query, run: Callable[[Asked], list[list[Any]]]) -> str:
    """The same in batch mode."""
    return _difference(query, EnvironmentSettings.in_batch_mode(), lambda one: sorted_rows(run(one)))


def _difference(query: Query, settings: EnvironmentSettings, run: Callable[[Asked], list[Any]]) -> str:
    fails = query.found.get("fails")
    try:
        planned = asked(query, settings)
    except Exception as error:
        return "" if fails else f"is refused: {type(error).__name__}: {error}"
    try:
        rows = run(planned)
    except Exception as error:
        return "" if fails else f"fails: {type(error).__name__}: {error}"
    if fails:
        return f"gives {_cut(rows)}, with Flink it fails: {query.found.get('message')}"
    types: Sequence[t.DataType] = [column.type for column in planned.plan.schema]
    theirs = _table([(kind, plain(cells)) for kind, cells in query.found["rows"]])
    if not same(rows, theirs, "FLOAT" in " ".join(map(str, types))):
        return f"gives {_cut(rows)}, Flink {_cut(theirs)}"
    wanted = [type_of(text) for text in query.found["types"]]
    if list(types) != wanted:
        return f"has types {[str(each) for each in types]}, with Flink {query.found['types']}"
    return ""


def _table(changes: Sequence[Sequence[Any]]) -> list[Any]:
    """The rows that are left; of what takes back other rows than it has given the changes."""
    try:
        return table_of(changes)
    except ValueError:
        return sorted_rows([list(change) for change in changes])


def _cut(rows: list[Any]) -> str:
    return json.dumps(rows)[:600]
