"""UNION, INTERSECT, EXCEPT, ORDER BY."""

from __future__ import annotations

from millrace.relational import nodes as n
from millrace.relational.rex import Literal
from millrace.spark.tables.nodes.forms import batch_form
from millrace.spark.tables.steps.computed import compute
from millrace.spark.tables.steps.context import Context
from millrace.spark.tables.steps.frames import names, order_text, typed_texts, types_of
from millrace.spark.tables.steps.parts import NOTHING, Part, query


@batch_form(n.SetOp)
def set_op(node: n.SetOp, inputs: list[Part], context: Context) -> Part:
    """NULLs are equal to each other; with ALL, duplicates count."""
    word = f" {node.kind} {'ALL' if node.all else 'DISTINCT'} "
    branches = []
    for part, branch in zip(inputs, node.branches):
        texts = typed_texts(names(len(node.columns)), types_of(branch.schema), node.columns)
        branches.append(f"SELECT {', '.join(texts) or NOTHING} FROM {part.relation}")
    return query(_together(word, branches) if node.kind == "UNION" else word.join(branches), *inputs)


_SIDE_BY_SIDE = 32
"""queries of a union that are written one after the other: Spark nests them as deeply, and goes down by recursion"""


def _together(word: str, branches: list[str]) -> str:
    """A union, whose order is no matter, as one of two halves where it is long."""
    if len(branches) <= _SIDE_BY_SIDE:
        return word.join(branches)
    middle = len(branches) // 2
    return f"({_together(word, branches[:middle])}){word}({_together(word, branches[middle:])})"


@batch_form(n.Sort)
def sort(node: n.Sort, inputs: list[Part], context: Context) -> Part:
    """ORDER BY, OFFSET, FETCH."""
    computed = compute(inputs[0], [key.expression for key in node.keys], types_of(node.schema), context)
    # A number in ORDER BY would be that of a column.
    order = [
        order_text(text, key)
        for text, key in zip(computed.texts, node.keys)
        if not isinstance(key.expression, Literal)
    ]
    clauses = [f"ORDER BY {', '.join(order)}"] if order else []
    clauses += [] if node.fetch is None else [f"LIMIT {node.fetch}"]
    clauses += [f"OFFSET {node.offset}"] if node.offset else []
    if not clauses:
        return inputs[0]
    return computed.part.select(names(len(node.schema)), " ".join(clauses))
