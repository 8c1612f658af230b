"""Question marks of JDBC: those that are parameters, and those that are not."""

from __future__ import annotations

import pytest

from millrace.connectors.jdbc.jdbc_sink import parameters_of, translated


@pytest.mark.parametrize(
    ("statement", "count", "formatted"),
    [
        ("INSERT INTO t VALUES (?, ?)", 2, "INSERT INTO t VALUES (%s, %s)"),
        ("SELECT '?''?', \"a?\", `b?`, ?", 1, "SELECT '?''?', \"a?\", `b?`, %s"),
        ("SELECT ? -- why?\n, ? /* ? \n ? */", 2, "SELECT %s -- why?\n, %s /* ? \n ? */"),
        ("SELECT $$ ? $$, $a$ ?$b$ $a$, ?", 1, "SELECT $$ ? $$, $a$ ?$b$ $a$, %s"),
        ("SELECT j ?? 'k', 10 % ?", 1, "SELECT j ? 'k', 10 %% %s"),
        ("SELECT '100%'", 0, "SELECT '100%%'"),
    ],
)
def test_statements(statement: str, count: int, formatted: str) -> None:
    assert parameters_of(statement) == count
    assert translated(statement, "format") == formatted
    assert translated(statement, "qmark") == statement
