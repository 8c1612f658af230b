"""Errors show what is wrong, where, and what may have been meant."""

from __future__ import annotations

import pickle
from dataclasses import replace

import pytest

from millrace.table.sql import nodes
from millrace.table.sql.grammar.parser import parse_query, parse_script, parse_statement
from millrace.table.sql.text import SqlParseError, SqlValidationError, position_of
from millrace.util.names import did_you_mean

SHOWN = [
    (
        "SELECT a\nFROM t\nWHERE b BETWEN 1 AND 2",
        """
'BETWEN' does not belong here, did you mean 'BETWEEN'?
at line 3, column 9:
  WHERE b BETWEN 1 AND 2
          ^^^^^^
""",
    ),
    (
        "SELECT a FROM t WHER a = 1",
        """
'WHER' does not belong here, did you mean 'WHERE'?
at line 1, column 17:
  SELECT a FROM t WHER a = 1
                  ^^^^
""",
    ),
    (
        "SELECT a FORM t",
        """
'FORM' does not belong here, did you mean 'FROM'?
at line 1, column 10:
  SELECT a FORM t
           ^^^^
""",
    ),
    (
        "SELECT (SELECT a FROM t\n  WHERE b GRUOP BY a)",
        """
'GRUOP' does not belong here, did you mean 'GROUP'?
at line 2, column 11:
    WHERE b GRUOP BY a)
            ^^^^^
""",
    ),
    (
        "CREATE TABEL t",
        """
expected TABLE, MATERIALIZED, VIEW, CATALOG, DATABASE, FUNCTION or MODEL, found 'TABEL', did you mean 'TABLE'?
at line 1, column 8:
  CREATE TABEL t
         ^^^^^
""",
    ),
    (
        "DROP TABLE  -- which one?\n\n;",
        """
expected a name of a table, found the end of the statement
at line 1, column 11:
  DROP TABLE  -- which one?
            ^
""",
    ),
    (
        "SELECT * FROM order",
        """
expected a table, found 'order': ORDER is a keyword, as a name it is written `order`
at line 1, column 15:
  SELECT * FROM order
                ^^^^^
""",
    ),
    (
        "SELECT a FROM",
        """
expected a table, found the end of the statement
at line 1, column 14:
  SELECT a FROM
               ^
""",
    ),
    (
        "\tSELECT a, FROM t",
        """
expected a name or an expression, found 'FROM': FROM is a keyword, as a name it is written `FROM`
at line 1, column 12:
  \tSELECT a, FROM t
  \t          ^^^^
""",
    ),
    (
        "SELECT '数据', \"x\"",
        """
double quotes are not used: write text in 'single quotes' and names in `backticks`
at line 1, column 14:
  SELECT '数据', "x"
                 ^
""",
    ),
    (
        "SELECT 'abc\nFROM t",
        """
this text has no closing quote
at line 1, column 8:
  SELECT 'abc
         ^
""",
    ),
    (
        "SELECT 1 /* never ends",
        """
this comment has no end
at line 1, column 10:
  SELECT 1 /* never ends
           ^
""",
    ),
    (
        "CREATE TABLE t (\n  a INTEGR\n)",
        """
unknown data type 'INTEGR', did you mean 'INTEGER'?
at line 2, column 5:
    a INTEGR
      ^^^^^^
""",
    ),
    (
        "SELECT CAST(a AS DECIMAL(50, 2))",
        """
the precision of a DECIMAL is from 1 to 38, not 50
at line 1, column 18:
  SELECT CAST(a AS DECIMAL(50, 2))
                   ^^^^^^^^^^^^^^
""",
    ),
    (
        "SELECT * FROM a JOIN b",
        """
expected ON or USING of JOIN, found the end of the statement
at line 1, column 23:
  SELECT * FROM a JOIN b
                        ^
""",
    ),
    (
        "SELECT 1abc",
        """
a name that begins with a digit is written in `backticks`
at line 1, column 8:
  SELECT 1abc
         ^^^^
""",
    ),
    (
        "SELECT * FROM ((SELECT 1) UNION (SELECT 2) WHERE x)",
        """
expected ')', found 'WHERE'
at line 1, column 44:
  SELECT * FROM ((SELECT 1) UNION (SELECT 2) WHERE x)
                                             ^^^^^
""",
    ),
    (
        "SELECT EXTRACT(MINUT FROM ts)",
        """
'MINUT' is no unit of time, did you mean 'MINUTE'?
at line 1, column 16:
  SELECT EXTRACT(MINUT FROM ts)
                 ^^^^^
""",
    ),
]


@pytest.mark.parametrize(("text", "shown"), SHOWN)
def test_errors_show_their_place(text: str, shown: str) -> None:
    with pytest.raises(SqlParseError) as error:
        parse_statement(text)
    assert str(error.value) == shown.strip("\n")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("SELECT * FROM a LEFT SEMI JOIN b ON x = y", "SEMI JOIN is not part of Flink SQL: use [NOT] EXISTS"),
        ("SELECT * FROM a CROSS APPLY (SELECT 1)", "APPLY is not supported: use JOIN LATERAL"),
        ("SELECT * FROM t TABLESAMPLE BERNOULLI (101)", "a number of percent between 0 and 100"),
        ("SELECT * FROM t TABLESAMPLE (10)", "BERNOULLI or SYSTEM"),
        ("SELECT * FROM t PIVOT (SUM(a) FOR b IN (1))", "PIVOT is not supported: aggregate with FILTER"),
        ("SELECT a AT TIME ZONE 'UTC'", "AT TIME ZONE is not supported: use CONVERT_TZ"),
        ("SELECT a::INT", "'::' is not supported: use CAST(value AS type)"),
        ("SELECT * FROM t WHERE a = ?", "parameters ('?') are not supported"),
        ("SELECT a INTO b FROM c", "SELECT .. INTO is not supported: write INSERT INTO"),
        ("SELECT MULTISET[1, 2]", "MULTISET is not supported here: use COLLECT"),
        ("SELECT ARRAY(SELECT 1)", "ARRAY of a query is not supported"),
        ("SELECT UNNEST(a) FROM t", "UNNEST is not supported here: it stands in FROM"),
        ("SELECT * FROM UNNEST(a, b)", "UNNEST takes one array, map or multiset"),
        ("SELECT MAP['a'] FROM t", "MAP[..] has a value for every key"),
        ("SELECT INTERVAL 5 DAY", "the number of an interval is written in quotes: INTERVAL '5' .."),
        ("SELECT INTERVAL '5:3' DAY", "the text '5:3' is no interval DAY: it looks like '1'"),
        ("SELECT SUM(x) OVER (ORDER BY y ROWS 2 PRECEDING EXCLUDE TIES)", "EXCLUDE is not supported in OVER"),
        ("SELECT f(SELECT 1)", "a query as an argument stands in brackets of its own"),
        ("SELECT * FROM a.b.c.d", "a table has three names at most"),
        ("SELECT 1 LIMIT 1 LIMIT 2", "a second LIMIT in one query"),
        ("SELECT x'1'", "a binary string has two digits"),
        ("SELECT * FROM (a JOIN b ON TRUE) AS c", "a join in brackets has no name"),
        ("SELECT a OVERLAPS b", "OVERLAPS stands between two pairs"),
        ("SELECT ROW_NUMBER() OVER", "expected '(', found the end"),
        ("SELECT CASE a END", "expected WHEN, found 'END'"),
        ("SELECT a.b. FROM t", "expected a name of a field, found 'FROM'"),
        ("SELECT a FROM t LIMIT x", "expected a number of rows, found 'x'"),
        ("SELECT (SELECT 1", "expected ')', found the end"),
        ("SELECT * FROM f(x", "expected ')', found the end"),
        (
            "SELECT * FROM t MATCH_RECOGNIZE (PATTERN (A{3,1}) DEFINE A AS TRUE)",
            "at least 3 and at most 1 times is never",
        ),
    ],
)
def test_what_is_not_supported_says_so_by_name(text: str, message: str) -> None:
    with pytest.raises(SqlParseError) as error:
        parse_statement(text)
    assert message in error.value.message


@pytest.mark.parametrize(
    ("find", "expected"),
    [
        (nodes.Window, "SUM(a + 1) OVER (ORDER BY b)"),
        (nodes.Call, "SUM(a + 1)"),
        (nodes.BuiltIn, "t.id = u.id"),
        (nodes.Literal, "1"),
        (nodes.Between, "c NOT BETWEEN 'x' AND 'y'"),
        (nodes.Not, "c NOT BETWEEN 'x' AND 'y'"),
        (nodes.Join, "JOIN u ON t.id = u.id"),
        (nodes.Cast, "CAST(d AS INT)"),
        (nodes.Group, "GROUP BY a"),
    ],
)
def test_nodes_know_their_text(find: type[nodes.Node], expected: str) -> None:
    text = (
        "SELECT CAST(d AS INT), SUM(a + 1) OVER (ORDER BY b) FROM t JOIN u ON t.id = u.id "
        "WHERE c NOT BETWEEN 'x' AND 'y' GROUP BY a"
    )
    position = position_of(next(parse_query(text).find_all(find)))
    assert position is not None
    assert position.text == expected
    assert position.column == text.index(expected) + 1


def test_deep_nesting_is_an_error_of_the_statement() -> None:
    with pytest.raises(SqlParseError, match="nested too deeply"):
        parse_statement(f"SELECT {'(' * 20_000}1{')' * 20_000}")


def test_long_conditions_are_no_nesting() -> None:
    assert parse_query("SELECT " + " OR ".join(f"a = {number}" for number in range(2000)))


def test_copies_of_trees_know_their_place() -> None:
    column = parse_query("SELECT\n  missing FROM t").rebuilt(replace).expressions[0]
    error = SqlValidationError.at(column, "unknown column 'missing'")
    assert str(error) == "unknown column 'missing'\nat line 2, column 3:\n    missing FROM t\n    ^^^^^^^"


def test_trees_of_programs_have_no_place() -> None:
    assert position_of(nodes.Column(nodes.Identifier("a"))) is None
    assert str(SqlValidationError.at(nodes.Column(nodes.Identifier("a")), "unknown")) == "unknown"
    assert position_of(None) is None


def test_paths_of_statements_know_their_place() -> None:
    (found,) = parse_script("\nDROP TABLE cat . db.`t`")
    path = found.path  # type: ignore[attr-defined]
    assert path.position.text == "cat . db.`t`"
    assert (path[2].position.line, path[2].position.column) == (2, 21)


def test_errors_can_be_pickled() -> None:
    with pytest.raises(SqlParseError) as error:
        parse_statement("SELECT FROM")
    copied = pickle.loads(pickle.dumps(error.value))
    assert (str(copied), copied.line, copied.column) == (str(error.value), 1, 8)


@pytest.mark.parametrize(
    ("name", "known", "expected"),
    [
        ("prise", ["price", "amount"], ", did you mean 'price'?"),
        ("PRICE", ["Price"], ", did you mean 'Price'?"),
        ("zzz", ["price"], ""),
        ("x", [], ""),
    ],
)
def test_close_names_are_offered(name: str, known: list[str], expected: str) -> None:
    assert did_you_mean(name, known) == expected
