"""Scripts are cut at semicolons that are none of a text, a comment or a statement set."""

from __future__ import annotations

import pytest

from millrace.table.sql.grammar.parser import is_complete, parse_script, parse_statement, statements_of
from millrace.table.sql.statements import Query, StatementSet
from millrace.table.sql.text import SqlParseError

SCRIPT = """
-- a comment; with a semicolon
SET 'a' = 'b;c';;
CREATE TABLE `t;u` (x STRING COMMENT 'it''s; fine') WITH ('connector' = 'print'); /* ; */
BEGIN STATEMENT SET;
  INSERT INTO a SELECT CASE WHEN x THEN 1 END FROM t;
  INSERT INTO b SELECT CASE WHEN y THEN 2 END;
END;
EXECUTE STATEMENT SET BEGIN INSERT INTO a SELECT 1; END;
EXPLAIN STATEMENT SET BEGIN INSERT INTO a SELECT 1; INSERT INTO b SELECT 2; END;
SELECT 'x' // the last one; no semicolon
"""


def test_a_script_is_cut_into_its_statements() -> None:
    found = parse_script(SCRIPT)
    kinds = ["Set", "CreateTable", "StatementSet", "StatementSet", "Explain", "Query"]
    assert [type(one).__name__ for one in found] == kinds
    assert found[0].text == "SET 'a' = 'b;c'"
    assert found[-1].text == "SELECT 'x'"
    assert isinstance(found[2], StatementSet)
    assert [insert.text for insert in found[2].inserts] == [
        "INSERT INTO a SELECT CASE WHEN x THEN 1 END FROM t",
        "INSERT INTO b SELECT CASE WHEN y THEN 2 END",
    ]


def test_places_are_those_of_the_script() -> None:
    last = parse_script(SCRIPT)[-1]
    assert last.position is not None
    assert (last.position.line, last.position.column) == (11, 1)


def test_statements_before_an_error_come_first() -> None:
    reader = statements_of("SELECT 1;\nSELCT 2;\nSELECT 3")
    assert isinstance(next(reader), Query)
    with pytest.raises(SqlParseError) as error:
        next(reader)
    assert (error.value.line, error.value.column) == (2, 1)


@pytest.mark.parametrize("text", ["", "  ;; -- nothing\n;", "/* ; */"])
def test_a_script_of_nothing_has_no_statements(text: str) -> None:
    assert parse_script(text) == []


@pytest.mark.parametrize(
    ("text", "complete"),
    [
        ("", True),
        ("SELECT 1;", True),
        ("SELECT 1; -- done", True),
        ("SELECT 1", False),
        ("SELECT 1; SELECT", False),
        ("SELECT 'a;", False),
        ("SELECT 1; /* and", False),
        ("SELECT `a;", False),
        ("BEGIN STATEMENT SET;", False),
        ("BEGIN STATEMENT SET; INSERT INTO a SELECT CASE WHEN b THEN c END;", False),
        ("BEGIN STATEMENT SET; INSERT INTO a SELECT 1; END;", True),
        ("EXECUTE STATEMENT SET BEGIN INSERT INTO a SELECT 1;", False),
    ],
)
def test_a_client_knows_when_to_run_what_was_typed(text: str, complete: bool) -> None:
    assert is_complete(text) is complete


def test_one_statement_may_have_a_semicolon() -> None:
    assert parse_statement("SELECT 1 ;").text == "SELECT 1"
