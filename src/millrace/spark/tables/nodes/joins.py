"""Joins of two inputs."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from millrace.relational import nodes as n
from millrace.relational.rex import Rex, conjuncts
from millrace.relational.rules.estimates import most_bytes
from millrace.relational.types import DataType
from millrace.spark.tables.nodes.forms import batch_form
from millrace.spark.tables.steps.computed import compute
from millrace.spark.tables.steps.context import Context
from millrace.spark.tables.steps.frames import names, typed, types_of
from millrace.spark.tables.texts.expressions import spark_text
from millrace.spark.tables.texts.times import near

_KINDS = {"INNER": "inner", "LEFT": "left", "RIGHT": "right", "FULL": "full", "SEMI": "left_semi", "ANTI": "left_anti"}


@batch_form(n.Join)
def join(node: n.Join, inputs: list[DataFrame], context: Context) -> DataFrame:
    """A regular join."""
    small = _side_to_send(node, context)
    sides = [F.broadcast(frame) if side is small else frame for side, frame in zip((node.left, node.right), inputs)]
    return _joined(node, sides, conjuncts(node.condition), [], context, node.null_aware)


def _side_to_send(node: n.Join, context: Context) -> n.Rel | None:
    """The side that every task gets whole instead of both being sent around by key: one that is small by what the
    catalog has counted. Spark itself cannot know how much a source of ours gives. What the user has said of a side is
    left to Spark."""
    if isinstance(node.left, n.Hinted) or isinstance(node.right, n.Hinted):
        return None
    sides = {"INNER": (node.left, node.right), "RIGHT": (node.left,), "FULL": ()}.get(node.kind, (node.right,))
    most = _broadcast_bytes(context)
    sizes = [(size, at, side) for at, side in enumerate(sides) if (size := most_bytes(side)) is not None]
    smallest = min(sizes, key=lambda each: each[:2], default=None)
    return smallest[2] if smallest is not None and smallest[0] <= most else None


def _broadcast_bytes(context: Context) -> int:
    """``spark.sql.autoBroadcastJoinThreshold``; -1 for never."""
    return int(context.session._jsparkSession.sessionState().conf().autoBroadcastJoinThreshold())


@batch_form(n.IntervalJoin)
def interval_join(node: n.IntervalJoin, inputs: list[DataFrame], context: Context) -> DataFrame:
    """A join whose rows are near each other in time."""
    right = len(node.left.schema) + node.right_time
    time = node.left.schema[node.left_time].type
    bounds = near(f"c{node.left_time}", f"c{right}", time, node.lower, node.upper)
    return _joined(node, inputs, conjuncts(node.condition), [bounds], context)


@batch_form(n.WindowJoin)
def window_join(node: n.WindowJoin, inputs: list[DataFrame], context: Context) -> DataFrame:
    """A join of rows in equal windows."""
    offset = len(node.left.schema)
    pairs = zip(node.left_window, node.right_window)
    equal = [f"c{left} = c{offset + right}" for left, right in pairs]
    return _joined(node, inputs, conjuncts(node.condition), equal, context)


@batch_form(n.TemporalJoin)
def temporal_join(node: n.TemporalJoin, inputs: list[DataFrame], context: Context) -> DataFrame:
    """Each left row with the version of the right table that was valid at its time: a version is valid from its time to
    that of the next one with the same key."""
    if node.right_time is None:
        return _joined(node, inputs, conjuncts(node.condition), [], context)
    left, right = inputs
    offset = len(node.left.schema)
    keys = ", ".join(f"c{key}" for key in node.right_key)
    end = F.expr(f"lead(c{node.right_time}) OVER (PARTITION BY {keys} ORDER BY c{node.right_time})")
    versions = right.withColumn("valid_until", end)
    time = f"c{offset + node.right_time}"
    valid = [f"{time} <= c{node.left_time}", f"(valid_until IS NULL OR c{node.left_time} < valid_until)"]
    return _joined(node, [left, versions], conjuncts(node.condition), valid, context)


def _joined(
    node: n.Join | n.IntervalJoin | n.WindowJoin | n.TemporalJoin,
    inputs: list[DataFrame],
    condition: list[Rex],
    more: list[str],
    context: Context,
    null_aware: bool = False,
) -> DataFrame:
    """The inputs joined.

    :param more: conditions as texts, over the columns of both inputs and what else the right frame has.
    """
    left, right = inputs
    left_types, right_types = types_of(node.left.schema), types_of(node.right.schema)
    offset, width = len(left_types), len(left_types) + len(right_types)
    right = right.toDF(*names(len(right_types), offset), *right.columns[len(right_types) :])
    texts = list(more)
    both: list[Rex] = []
    for part in condition:
        text = spark_text(part)
        if text is None:
            both.append(part)
        else:
            texts.append(f"({text} OR {text} IS NULL)" if null_aware else text)
    where = " AND ".join(texts)
    if both:
        frame = _with_python(node.kind, left, right, where, both, [*left_types, *right_types], context, null_aware)
    else:
        frame = _plain(left, right, where, node.kind)
    kept = names(offset) if node.kind in ("SEMI", "ANTI") else names(width)
    return typed(frame.select(*kept), node.schema)


def _plain(left: DataFrame, right: DataFrame, where: str, kind: str) -> DataFrame:
    if not where and kind == "INNER":
        return left.crossJoin(right)
    return left.join(right, F.expr(where or "TRUE"), _KINDS[kind])


def _with_python(
    kind: str,
    left: DataFrame,
    right: DataFrame,
    where: str,
    condition: list[Rex],
    types: list[DataType],
    context: Context,
    null_aware: bool,
) -> DataFrame:
    """A join with a condition that Python checks: on the pairs of all the rest. Rows of an optional side that have no
    pair left are found by a number that every row gets.

    :raises NotImplementedError: a FULL join, whose both sides are optional.
    """
    width = len(types)
    if kind == "INNER":
        pairs = _plain(left, right, where, kind)
        computed = compute(pairs, condition, types, context)
        return computed.frame.where(" AND ".join(computed.texts)).select(*names(width))
    if kind == "FULL":
        raise NotImplementedError(
            "a FULL OUTER JOIN with a function in its condition that only Python can compute: compute the function in "
            "a query below the join, or write it as a UNION ALL of a LEFT JOIN and what is left of the right side"
        )
    # The side whose rows stay is numbered, the optional one marked.
    swapped = kind == "RIGHT"
    number, mark = F.monotonically_increasing_id(), F.lit(True)
    offset = len(left.columns)
    left = left.withColumn("matched", mark) if swapped else left.withColumn("row_id", number)
    right = right.withColumn("row_id", number) if swapped else right.withColumn("matched", mark)
    computed = compute(_plain(left, right, where, "RIGHT" if swapped else "LEFT"), condition, types, context)
    checks = [f"({text} OR {text} IS NULL)" if null_aware else text for text in computed.texts]
    holds = F.expr(" AND ".join(["matched IS NOT NULL", *checks]))
    flagged = computed.frame.select(*names(width), "row_id", F.coalesce(holds, F.lit(False)).alias("holds"))
    counted = flagged.selectExpr(
        "*",
        "max(holds) OVER (PARTITION BY row_id) AS any_holds",
        "row_number() OVER (PARTITION BY row_id ORDER BY holds DESC) AS place",
    )
    if kind in ("SEMI", "ANTI"):
        return counted.where(f"place = 1 AND {'NOT ' if kind == 'ANTI' else ''}any_holds")
    kept = counted.where("holds OR (place = 1 AND NOT any_holds)")
    optional = range(offset) if swapped else range(offset, width)
    columns = [f"CASE WHEN holds THEN c{at} END AS c{at}" if at in optional else f"c{at}" for at in range(width)]
    return kept.selectExpr(*columns)
