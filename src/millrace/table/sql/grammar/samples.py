"""TABLESAMPLE: some of the rows of a relation."""

from __future__ import annotations

from decimal import Decimal

from millrace.table.sql import nodes
from millrace.table.sql.grammar.cursor import Cursor
from millrace.table.sql.text.tokens import Kind


def sampled(cursor: Cursor, relation: nodes.Node, begin: int) -> nodes.Node:
    """The relation, with the clause if it comes next."""
    if not cursor.take("TABLESAMPLE"):
        return relation
    method = cursor.take_any("BERNOULLI", "SYSTEM")
    if not method:
        cursor.fail_expecting("BERNOULLI or SYSTEM")
    cursor.expect("(")
    percent = cursor.token.text
    if cursor.token.kind is not Kind.NUMBER or Decimal(percent) > 100:
        cursor.fail("TABLESAMPLE takes a number of percent between 0 and 100")
    cursor.advance()
    cursor.expect(")")
    seed = None
    if cursor.take("REPEATABLE"):
        cursor.expect("(")
        seed = -cursor.integer("a seed") if cursor.take("-") else cursor.integer("a seed")
        cursor.expect(")")
    return cursor.put(nodes.Sampled(relation, method, percent, seed), begin)
