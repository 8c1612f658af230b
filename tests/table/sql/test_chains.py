"""How long chains of operators are grouped."""

from __future__ import annotations

import pytest

from millrace.table import EnvironmentSettings, TableEnvironment
from millrace.table.sql import nodes
from millrace.table.sql.grammar.parser import parse_expression
from millrace.table.sql.text import SqlError


def depth(tree: nodes.Node) -> int:
    """How many ``||`` stand inside each other at most."""
    if not isinstance(tree, nodes.BuiltIn):
        return 0
    return 1 + max(map(depth, tree.expressions))


def leaves(tree: nodes.Node) -> list[str]:
    if isinstance(tree, nodes.BuiltIn):
        return [leaf for each in tree.expressions for leaf in leaves(each)]
    return [str(part.this) for part in tree.walk() if isinstance(part, nodes.Identifier)]


@pytest.mark.parametrize("count", [2, 16, 17, 31, 33, 1000, 10_000])
def test_texts_keep_their_order_in_few_levels(count: int) -> None:
    names = [f"c{number}" for number in range(count)]
    tree = parse_expression(" || ".join(names))
    assert leaves(tree) == names
    assert depth(tree) <= 15 + max(count // 16, 1).bit_length()


def test_a_short_chain_is_grouped_from_the_left() -> None:
    assert parse_expression("a || b || c") == nodes.BuiltIn(
        "||", (nodes.BuiltIn("||", (parse_expression("a"), parse_expression("b"))), parse_expression("c"))
    )


def test_what_binds_as_strongly_stays_where_it_is() -> None:
    product = nodes.BuiltIn("*", (parse_expression("a"), parse_expression("b")))
    assert parse_expression("a * b || c") == nodes.BuiltIn("||", (product, parse_expression("c")))
    joined = nodes.BuiltIn("||", (parse_expression("a"), parse_expression("b")))
    assert parse_expression("a || b * c") == nodes.BuiltIn("*", (joined, parse_expression("c")))


def test_what_is_too_deep_is_refused_in_words() -> None:
    tables = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    query = f"SELECT {'CASE WHEN n = 1 THEN n ELSE ' * 20_000}n{' END' * 20_000} FROM (VALUES (1)) AS t (n)"
    with pytest.raises(SqlError, match="nested too deeply"):
        tables.explain_sql(query)
