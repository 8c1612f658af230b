"""What is understood of a statement that is being typed."""

from __future__ import annotations

import pytest

from millrace.cluster.gateway.sql_completion import Path, typed


@pytest.mark.parametrize(
    ("text", "words", "begun", "quote"),
    [
        ("", [], "", ""),
        ("SEL", [], "SEL", ""),
        ("SELECT ", ["SELECT"], "", ""),
        ("SHOW TABLES; DES", [], "DES", ""),
        ("SET 'sql-cl", ["SET"], "sql-cl", "'"),
        ("SELECT 'a', 'b' x, `ord", ["SELECT", "", ",", "", "X", ","], "ord", "`"),
        ("SELECT a -- it's\n, b", ["SELECT", "A", ","], "b", ""),
    ],
)
def test_the_place_of_the_cursor(text: str, words: list[str], begun: str, quote: str) -> None:
    place = typed(text)
    assert (place.words, place.begun, place.quote) == (words, begun, quote)


@pytest.mark.parametrize(
    ("text", "qualifier"),
    [("SELECT o.", ("o",)), ("SELECT o.pri", ("o",)), ("FROM a.`b c`.d", ("a", "b c")), ("SELECT 1.", ())],
)
def test_names_with_dots(text: str, qualifier: Path) -> None:
    assert typed(text).qualifier == qualifier


@pytest.mark.parametrize(
    ("before", "after", "sources"),
    [
        ("SELECT ", " FROM orders", {"orders": ("orders",)}),
        ("SELECT ", " FROM db.orders AS o, customers c WHERE", {"o": ("db", "orders"), "c": ("customers",)}),
        ("SELECT * FROM a JOIN b ON ", "", {"a": ("a",), "b": ("b",)}),
        ("SELECT * FROM a WHERE ", "", {"a": ("a",)}),
        ("SELECT * FROM (SELECT * FROM a) x WHERE ", "", {"a": ("a",)}),
        ("INSERT INTO t SELECT ", " FROM `from` f; SELECT 1 FROM later", {"t": ("t",), "f": ("from",)}),
        ("SELECT 1 FROM earlier; SELECT ", "", {}),
    ],
)
def test_tables_on_either_side(before: str, after: str, sources: dict[str, Path]) -> None:
    assert typed(before, after).sources == sources
