"""Projections, filters, watermarks and hints; UNION, INTERSECT, EXCEPT, ORDER BY."""

from __future__ import annotations

from millrace.relational import nodes as n
from millrace.relational.rex import Literal
from millrace.spark.tables.nodes.forms import batch_form
from millrace.spark.tables.steps.computed import compute, filtered, names, order_text, projected, typed_texts, types_of
from millrace.spark.tables.steps.context import Context
from millrace.spark.tables.steps.parts import NOTHING, Part, query
from millrace.spark.tables.steps.spark_types import ddl, spark_type


@batch_form(n.Project)
def project(node: n.Project, inputs: list[Part], context: Context) -> Part:
    """Computed columns."""
    return projected(inputs[0], node.expressions, types_of(node.input.schema), node.columns, context)


@batch_form(n.Expand)
def expand(node: n.Expand, inputs: list[Part], context: Context) -> Part:
    """Each row once for every projection."""
    expressions = [each for projection in node.projections for each in projection]
    computed = compute(inputs[0], expressions, types_of(node.input.schema), context)
    texts = iter(computed.texts)
    fields = [(f"c{index}", ddl(spark_type(column.type))) for index, column in enumerate(node.columns)]
    made = []
    for _ in node.projections:
        parts = [f"'{name}', CAST({next(texts)} AS {kind})" for name, kind in fields]
        made.append(f"named_struct({', '.join(parts)})")
    return computed.part.select([f"inline(array({', '.join(made)}))"])


@batch_form(n.Filter)
def filter(node: n.Filter, inputs: list[Part], context: Context) -> Part:
    """Rows for which the condition is TRUE."""
    return filtered(inputs[0], node.condition, types_of(node.schema), context)


@batch_form(n.Watermark)
def watermark(node: n.Watermark, inputs: list[Part], context: Context) -> Part:
    """All rows are there before anything is computed: nothing is late."""
    return inputs[0]


_JOIN_HINTS = {
    "BROADCAST": "broadcast",
    "SHUFFLE_HASH": "shuffle_hash",
    "SHUFFLE_MERGE": "merge",
    "NEST_LOOP": "shuffle_replicate_nl",
}


@batch_form(n.Hinted)
def hinted(node: n.Hinted, inputs: list[Part], context: Context) -> Part:
    """Join hints without arguments go to Spark; those that name tables were resolved to the input they mean. What
    concerns state has no meaning here."""
    part = inputs[0]
    for name, _ in node.hints:
        if name.upper() in _JOIN_HINTS:
            part = Part.of_frame(part.frame.hint(_JOIN_HINTS[name.upper()]))
    return part


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
        order_text(text, key) for text, key in zip(computed.texts, node.keys) if not isinstance(key.expression, Literal)
    ]
    clauses = [f"ORDER BY {', '.join(order)}"] if order else []
    clauses += [] if node.fetch is None else [f"LIMIT {node.fetch}"]
    clauses += [f"OFFSET {node.offset}"] if node.offset else []
    if not clauses:
        return inputs[0]
    return computed.part.select(names(len(node.schema)), " ".join(clauses))
