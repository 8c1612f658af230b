"""The look-up table of docs/guide/lookups.md works."""

from __future__ import annotations

import ast
from typing import Any

from tests.connectors.tables.message_tables import MessageTables
from tests.test_docs import ROOT, blocks_of

PAGE = "docs/guide/lookups.md"


def test_the_table_of_the_guide() -> None:
    (block,) = (each for each in blocks_of(PAGE, (ROOT / PAGE).read_text("utf-8")) if each.language == "python")
    program, _, statement = block.text.partition("tables = ")
    names: dict[str, Any] = {}
    exec(compile(program, PAGE, "exec"), names)  # the page is ours
    ddl, query = _statements(statement)
    tables = MessageTables()
    tables.environment.register_connector(names["SquaresFactory"])
    tables.environment.execute_sql(ddl)
    assert tables.rows(query) == [(2, 4), (3, 9)]


def _statements(text: str) -> list[str]:
    """What ``execute_sql`` is called with."""
    calls = [node for node in ast.walk(ast.parse("tables = " + text)) if isinstance(node, ast.Call)]
    found = [call for call in calls if isinstance(call.func, ast.Attribute) and call.func.attr == "execute_sql"]
    return [ast.literal_eval(call.args[0]) for call in sorted(found, key=lambda call: call.lineno)]
