"""Asks Millrace the cases of Flink's tests of aggregate functions: queries over a table of changes."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from tests.flink.asking import Asked, same, sorted_rows, streamed, table_of
from tests.flink.suites.expressing import NotThere, expression
from tests.flink.suites.net import net_rows
from tests.flink.suites.reading import lines, plain, short, text_of, type_of
from tests.flink.suites.tables import DECLARED

from millrace.relational.types import DataType
from millrace.table import EnvironmentSettings, TableEnvironment

TABLE = "changes"


@dataclass(frozen=True)
class AggregateCase:
    """A query over changes."""

    key: str
    cases: dict[str, Any]
    found: dict[str, Any]


def aggregate_cases() -> Iterator[AggregateCase]:
    seen: dict[str, int] = {}
    for line in lines("aggregates"):
        name = f"{line['suite']}/{line['set'].strip()}"
        for case in line.get("cases", ()):
            key = short(f"{name}: {text_of(case)}")
            seen[key] = seen.get(key, 0) + 1
            yield AggregateCase(key if seen[key] == 1 else f"{key} #{seen[key]}", line, case)


def left(case: AggregateCase) -> str:
    """Why a case cannot be asked; empty if it can."""
    if "unread" in case.found:
        return "the recorder could not read it"
    kinds = [text for _, text in case.cases["columns"]] + case.found.get("types", [])
    if any(type_of(text) is None for text in kinds):
        return "values of Java's classes"
    try:
        for tree in (*case.found.get("api", ()), *case.found.get("group", ())):
            expression(tree)
    except NotThere as error:
        return str(error)
    except Exception:
        return ""
    return ""


def streamed_rows(asked: Asked) -> list[Any]:
    """What a query leaves in streaming mode."""
    return table_of(streamed(asked))


def difference(
    case: AggregateCase,
    rows_of: Callable[[Asked], list[Any]] = streamed_rows,
    settings: EnvironmentSettings | None = None,
) -> str:
    """What is not as Flink's tests expect; empty if nothing is.

    :param rows_of: runs a query.
    :param settings: of batch mode, which reads the rows that the changes leave.
    """
    fails = case.found.get("fails")
    try:
        asked = _ask(case, settings)
    except Exception as error:
        return "" if fails else f"is refused: {type(error).__name__}: {error}"
    if fails == "plan":
        return f"is planned, with Flink it is refused: {case.found.get('message')}"
    try:
        rows = rows_of(asked)
    except Exception as error:
        return "" if fails else f"fails: {type(error).__name__}: {error}"
    if fails:
        return f"gives {rows}, with Flink it fails: {case.found.get('message')}"
    types: list[DataType] = [column.type for column in asked.plan.schema]
    if types != [type_of(text) for text in case.found["types"]]:
        return f"has types {[str(each) for each in types]}, with Flink {case.found['types']}"
    theirs = sorted_rows(plain(case.found["rows"]))
    if same(rows, theirs, "FLOAT" in " ".join(map(str, types))):
        return ""
    return f"gives {_cut(rows)}, Flink {_cut(theirs)}"


def _ask(case: AggregateCase, settings: EnvironmentSettings | None) -> Asked:
    tables = TableEnvironment.create(settings or EnvironmentSettings.in_streaming_mode())
    tables.get_config().set_local_timezone("UTC")
    for key, value in case.cases.get("config", {}).items():
        tables.get_config().set(key, value)
    mode = "I,UB,UA,D" if settings is None else "I"
    DECLARED[TABLE] = case.cases["rows"] if settings is None else net_rows(case.cases["rows"])
    columns = ", ".join(f"`{name}` {kind}" for name, kind in case.cases["columns"])
    tables.execute_sql(
        f"CREATE TABLE {TABLE} ({columns}) WITH ('connector' = 'flink-values', 'id' = '{TABLE}', "
        f"'changelog-mode' = '{mode}', 'batches' = '4')"
    )
    if "sql" in case.found:
        table = tables.sql_query(case.found["sql"])
    else:
        source = tables.from_path(TABLE)
        groups = case.found.get("group")
        selected = list(map(expression, case.found["api"]))
        table = source.group_by(*map(expression, groups)).select(*selected) if groups else source.select(*selected)
    return Asked(tables, table._plan)


def _cut(rows: list[Any]) -> str:
    return json.dumps(rows)[:500]
