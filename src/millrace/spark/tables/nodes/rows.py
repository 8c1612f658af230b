"""One row after the other: projections, filters, watermarks, hints."""

from __future__ import annotations

from millrace.relational import nodes as n
from millrace.spark.tables.nodes.forms import batch_form
from millrace.spark.tables.steps.computed import compute
from millrace.spark.tables.steps.context import Context
from millrace.spark.tables.steps.frames import filtered, typed_texts, types_of
from millrace.spark.tables.steps.parts import Part
from millrace.spark.tables.texts.types import ddl, spark_type


@batch_form(n.Project)
def project(node: n.Project, inputs: list[Part], context: Context) -> Part:
    """Computed columns."""
    computed = compute(inputs[0], node.expressions, types_of(node.input.schema), context)
    return computed.part.select(typed_texts(computed.texts, computed.types, node.columns))


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
