"""``%%sql`` without a notebook: what each kind of statement gives."""

from __future__ import annotations

from typing import Any

import pytest

from millrace.notebook.extension import sql
from millrace.table import EnvironmentSettings, Table, TableEnvironment
from millrace.table.sql.text import SqlError


@pytest.fixture
def variables() -> dict[str, Any]:
    return {"t_env": TableEnvironment.create(EnvironmentSettings.in_streaming_mode())}


def test_a_query_is_a_table_and_runs_when_it_is_shown(variables: dict[str, Any]) -> None:
    found = sql(variables, "", "CREATE TABLE t (a INT) WITH ('connector' = 'datagen');\nSELECT a FROM t WHERE a > 1")
    assert isinstance(found, Table)
    assert found.get_schema().get_field_names() == ["a"]


def test_a_result_can_be_kept(variables: dict[str, Any]) -> None:
    assert sql(variables, "kept << t_env", "VALUES (1), (2)") is None
    assert isinstance(variables["kept"], Table)


def test_show_is_shown(variables: dict[str, Any]) -> None:
    found = sql(variables, "", "CREATE TABLE `<t>` (a INT) WITH ('connector' = 'datagen'); SHOW TABLES;")
    assert found.rows == [["<t>"]]
    assert "<td>&lt;t&gt;</td>" in found._repr_html_()


def test_plain_texts_keep_their_lines(variables: dict[str, Any]) -> None:
    html = sql(variables, "", "EXPLAIN VALUES (1)")._repr_html_()
    assert html.startswith("<pre>== Abstract Syntax Tree ==\n")


def test_mistakes(variables: dict[str, Any]) -> None:
    with pytest.raises(SqlError, match="unknown column 'b'"):
        sql(variables, "", "SELECT b FROM (VALUES (1)) AS t (a)")
    with pytest.raises(NameError, match="TableEnvironment in the variable 'other'"):
        sql(variables, "other", "VALUES (1)")
    with pytest.raises(ValueError, match="usage: %%sql"):
        sql(variables, "t_env too", "VALUES (1)")
