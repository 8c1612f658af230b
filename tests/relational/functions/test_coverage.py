"""Which of the functions that PyFlink lists are there, by SQL and by the Table API."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from scripts.functions.absent import ABSENT
from scripts.functions.entries import ENTRIES
from scripts.functions.page import BEYOND, COMMAND, TARGET, listed, page, unmentioned
from scripts.functions.results import query_of
from scripts.functions.table_api import API
from scripts.functions.tables import environment as with_tables
from tests.corpus import corpus
from tests.relational.functions.test_spark_text import examples

from millrace import table
from millrace.connectors.tables.values_table import clear_values
from millrace.relational.functions.registry import find_scalar, scalar_names
from millrace.table import Table, TableEnvironment, expression, expressions
from millrace.table.expressions import UNBOUNDED_RANGE, col, lit
from millrace.table.window import Over, Tumble

LISTED = 251
"""names in ``list_functions()`` of PyFlink 2.3"""
SQL_ONLY = {"ASSIGNMENT"}
API_ONLY = {"rangeTo", "withColumns", "withoutColumns"}

NO_EXAMPLE = {
    "CURRENT_DATE", "CURRENT_TIMESTAMP", "CURRENT_ROW_TIMESTAMP", "CURRENT_WATERMARK", "LOCALTIME", "LOCALTIMESTAMP",
    "PROCTIME", "SOURCE_WATERMARK",
    "RAND", "RAND_INTEGER", "UUID",
}  # fmt: skip
"""Tested in test_temporal_now.py and test_randoms.py: what they give depends on the clock, or on chance."""


@pytest.fixture(scope="module")
def environment() -> Iterator[TableEnvironment]:
    yield with_tables()
    clear_values()


@pytest.fixture(scope="module")
def scope(environment: TableEnvironment) -> dict[str, Any]:
    modules = (table, expression, expressions)
    names = {name: getattr(module, name) for module in modules for name in dir(module) if name[0] != "_"}
    return {**names, "DataTypes": table.DataTypes, "t": environment.from_path("t"), "log": environment.from_path("log")}


def test_the_list_is_complete() -> None:
    assert len(listed()) == LISTED
    in_sql = ENTRIES.keys() - BEYOND
    assert ENTRIES.keys() > BEYOND
    assert not ABSENT.keys() & {*ENTRIES, *API}
    assert in_sql - API.keys() == SQL_ONLY
    assert API.keys() - in_sql == API_ONLY
    assert LISTED - len(ABSENT) >= 240


@corpus("name", ENTRIES, 261)
def test_is_called_in_sql(environment: TableEnvironment, name: str) -> None:
    assert environment.sql_query(query_of(ENTRIES[name])).get_schema().get_field_count() > 0


def test_every_function_is_on_the_page() -> None:
    assert not unmentioned()


@corpus("name", API, 243)
def test_is_called_in_the_table_api(scope: dict[str, Any], name: str) -> None:
    found = selected(scope["t"], eval(API[name], {**scope}))
    assert found.get_schema().get_field_count() > 0


def selected(t: Table, called: Any) -> Table:
    """A query with the expression where it can stand."""
    if isinstance(called, Table):
        return called
    text = str(called)
    if "over(" in text:
        window = Over.partition_by(col("b")).order_by(col("ts")).preceding(UNBOUNDED_RANGE).alias("w")
        return t.over_window(window).select(called)
    if text.startswith(("start(", "end(", "rowtime(", "proctime(")):
        return t.window(Tumble.over(lit(1).hours).on(col("ts")).alias("w")).group_by(col("w")).select(called)
    return t.order_by(called) if text.startswith(("asc(", "desc(")) else t.select(called)


@pytest.mark.parametrize("name", ABSENT)
def test_what_is_absent_is_refused_in_sql(environment: TableEnvironment, name: str) -> None:
    with pytest.raises(Exception, match=r"(?i)function|unknown|expected"):
        environment.sql_query(f"SELECT {name}(a) FROM t")


def test_every_function_has_an_example_with_an_expected_value() -> None:
    called = {name for example in examples() for name in (example.function, example.call().function)}
    missing = {scalar.name for name in scalar_names() if (scalar := find_scalar(name)) and scalar.name not in called}
    assert missing == NO_EXAMPLE


def test_the_page_is_up_to_date() -> None:
    assert TARGET.read_text("utf-8") == page(), f"run `{COMMAND}` and look at what changed"
