"""CALL runs Python procedures of catalogs."""

from __future__ import annotations

import re
from typing import Any

import pytest

from millrace.common.types import Row
from millrace.table import EnvironmentSettings, TableEnvironment
from millrace.table.catalog import ObjectPath, Procedure


class Numbers(Procedure):
    def call(self, count: int, start: int = 0, word: str | None = None) -> list[Row]:
        return [Row(number=start + at, word=word) for at in range(count)]


class Sum(Procedure):
    def call(self, *values: Any) -> Any:
        return sum(values)


class Nothing(Procedure):
    def call(self) -> None:
        return None


@pytest.fixture
def tables() -> TableEnvironment:
    made = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    catalog = made.get_catalog("default_catalog")
    for name, procedure in {"numbers": Numbers(), "total": Sum(), "nothing": Nothing()}.items():
        catalog.create_procedure(ObjectPath("default_database", name), procedure, False)
    return made


def called(tables: TableEnvironment, statement: str) -> tuple[list[str], list[tuple[Any, ...]]]:
    result = tables.execute_sql(statement)
    return result.get_table_schema().get_field_names(), [tuple(row) for row in result.collect()]


CALLS = {
    "CALL numbers(2)": (["number", "word"], [(0, None), (1, None)]),
    "CALL default_catalog.default_database.numbers(1, 5, 'x')": (["number", "word"], [(5, "x")]),
    "CALL `default_database`.NUMBERS(word => UPPER('y'), `count` => 1)": (["number", "word"], [(0, "Y")]),
    "CALL numbers(0)": (["result"], []),
    "CALL total(1, 2 + 3, -4)": (["result"], [(2,)]),
    "CALL nothing()": (["result"], [("OK",)]),
}


@pytest.mark.parametrize("statement", CALLS)
def test_it_gives_what_python_returns(statement: str, tables: TableEnvironment) -> None:
    assert called(tables, statement) == CALLS[statement]


REFUSED = {
    "CALL number(1)": "there is no procedure default_database.number, did you mean 'numbers'?",
    "CALL numbers()": "numbers(count: 'int', start: 'int' = 0, word: 'str | None' = None) -> 'list[Row]' does not take",
    "CALL numbers(1, wrong => 2)": "does not take these arguments: got an unexpected keyword argument 'wrong'",
    "CALL numbers(`count` => 1, 2)": "arguments with names come last",
    "CALL total(RAND())": "an argument of a procedure is a constant",
}


@pytest.mark.parametrize("statement", REFUSED)
def test_what_cannot_be_called_is_refused(statement: str, tables: TableEnvironment) -> None:
    with pytest.raises(Exception, match=re.escape(REFUSED[statement])):
        tables.execute_sql(statement)


def test_they_are_listed_and_dropped(tables: TableEnvironment) -> None:
    assert called(tables, "SHOW PROCEDURES")[1] == [("nothing",), ("numbers",), ("total",)]
    assert called(tables, "SHOW PROCEDURES IN default_database LIKE 'n%'")[1] == [("nothing",), ("numbers",)]
    tables.get_catalog("default_catalog").drop_procedure(ObjectPath("default_database", "total"), False)
    assert called(tables, "SHOW PROCEDURES NOT ILIKE 'N%'")[1] == []
