"""UNION, INTERSECT, EXCEPT, ORDER BY."""

from __future__ import annotations

from functools import reduce

from pyspark.sql import DataFrame

from millrace.relational import nodes as n
from millrace.spark.tables.nodes.forms import batch_form
from millrace.spark.tables.steps.computed import compute
from millrace.spark.tables.steps.context import Context
from millrace.spark.tables.steps.frames import ordered, typed, types_of


@batch_form(n.SetOp)
def set_op(node: n.SetOp, inputs: list[DataFrame], context: Context) -> DataFrame:
    """NULLs are equal to each other; with ALL, duplicates count."""
    combine = {
        ("UNION", True): DataFrame.unionAll,
        ("UNION", False): DataFrame.unionAll,
        ("INTERSECT", True): DataFrame.intersectAll,
        ("INTERSECT", False): DataFrame.intersect,
        ("EXCEPT", True): DataFrame.exceptAll,
        ("EXCEPT", False): DataFrame.subtract,
    }[node.kind, node.all]
    frame = reduce(combine, (typed(each, node.columns) for each in inputs))
    return frame.distinct() if node.kind == "UNION" and not node.all else frame


@batch_form(n.Sort)
def sort(node: n.Sort, inputs: list[DataFrame], context: Context) -> DataFrame:
    """ORDER BY, OFFSET, FETCH."""
    frame = inputs[0]
    kept = frame.columns
    if node.keys:
        computed = compute(frame, [key.expression for key in node.keys], types_of(node.schema), context)
        columns = [ordered(text, key) for text, key in zip(computed.texts, node.keys)]
        frame = computed.frame.orderBy(*columns).select(*kept)
    if node.offset:
        frame = frame.offset(node.offset)
    return frame if node.fetch is None else frame.limit(node.fetch)
