"""OVER windows, Top-N and deduplication."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

from pyspark.sql import functions as F

from millrace.relational import nodes as n
from millrace.relational import types as t
from millrace.relational.functions.aggregates.spark_texts import Texts
from millrace.relational.rex import Distance, Frame, SortKey
from millrace.spark.tables.nodes.aggregates import call_texts, finish_column
from millrace.spark.tables.nodes.forms import batch_form
from millrace.spark.tables.steps.computed import compute
from millrace.spark.tables.steps.context import Context
from millrace.spark.tables.steps.frames import names, order_text, retyped, typed_texts, types_of
from millrace.spark.tables.steps.parts import Part, numbered
from millrace.spark.tables.texts.aggregate_texts import (
    RANKING,
    collected_text,
    constant_offset,
    native_text,
    shifted_text,
)


MOST_ROWS = 1 << 30
"""rows of a partition at most: Spark counts them, and adds the distance of a bound, in 32 bits"""


@batch_form(n.Over)
def over(node: n.Over, inputs: list[Part], context: Context) -> Part:
    """The input's columns, then one for each call."""
    types = types_of(node.input.schema)
    width = len(types)
    calls = [call for call, _ in node.calls]
    keys = [key.expression for key in node.order]
    part, prepared, by = call_texts(inputs[0], calls, types, context, keys)
    order = [order_text(text, key) for text, key in zip(by, node.order)]
    base = f"PARTITION BY {', '.join(f'c{index}' for index in node.partition)} " if node.partition else ""
    base += f"ORDER BY {', '.join(order)} " if order else ""
    columns = []
    python = []
    for index, ((call, bounds), texts) in enumerate(zip(node.calls, prepared), width):
        clause = "" if call.function in RANKING else _frame(bounds, node.order)
        texts = Texts(texts.args, texts.filter, texts.order, f" OVER ({base}{clause})")
        text = native_text(call, texts) if constant_offset(call) else shifted_text(call, texts, base)
        if text is None:
            python.append((index, call))
            text = collected_text(call, texts)
        columns.append(text)
    part = part.select(numbered([*names(width), *columns]))
    if python:
        done = {index: finish_column(call, f"c{index}", context) for index, call in python}
        kept = [done.get(index, F.col(f"c{index}")) for index in range(width + len(columns))]
        part = Part.of_frame(part.frame.select(*kept))
    return retyped(part, [*types, *(call.type for call in calls)], node.schema)


def _frame(frame: Frame, order: Sequence[SortKey]) -> str:
    """ROWS or RANGE BETWEEN. Without an order all rows are each other's peers."""
    if not order and not frame.rows:
        return "RANGE BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING"
    start = _bound(frame, frame.preceding, "PRECEDING", order)
    end = _bound(frame, frame.following, "FOLLOWING", order)
    return f"{'ROWS' if frame.rows else 'RANGE'} BETWEEN {start} AND {end}"


def _bound(frame: Frame, distance: Distance | None, side: str, order: Sequence[SortKey]) -> str:
    if distance is None or (frame.rows and distance > MOST_ROWS):
        return f"UNBOUNDED {side}"
    if distance == 0:
        return "CURRENT ROW"
    if distance < 0:
        distance, side = -distance, "FOLLOWING" if side == "PRECEDING" else "PRECEDING"
    if frame.rows:
        return f"{min(int(distance), MOST_ROWS)} {side}"
    kind = order[0].expression.type
    if isinstance(kind, t.NumericType):
        return f"{_number(distance)} {side}"
    if isinstance(kind, t.DateType):
        return f"{int(distance) // 86_400_000} {side}"
    seconds, millis = divmod(int(distance), 1000)
    return f"INTERVAL '{seconds}.{millis:03d}' SECOND {side}"


def _number(distance: Distance) -> str:
    """As a constant of Spark."""
    if isinstance(distance, float):
        return f"{distance!r}D"
    return f"{distance:f}BD" if isinstance(distance, Decimal) else str(distance)


@batch_form(n.Rank)
def rank(node: n.Rank, inputs: list[Part], context: Context) -> Part:
    """Top-N."""
    types = types_of(node.input.schema)
    computed = compute(inputs[0], [key.expression for key in node.order], types, context)
    order = [order_text(text, key) for text, key in zip(computed.texts, node.order)]
    return _ranked(computed.part, node, node.function.lower(), node.partition, order, (node.first, node.last))


@batch_form(n.Deduplicate)
def deduplicate(node: n.Deduplicate, inputs: list[Part], context: Context) -> Part:
    """The first or last row of each key."""
    order = [f"c{node.time} {'DESC NULLS LAST' if node.last else 'ASC NULLS FIRST'}"]
    return _ranked(inputs[0], node, "row_number", node.keys, order, (1, 1))


def _ranked(
    part: Part,
    node: n.Rank | n.Deduplicate,
    function: str,
    partition: Sequence[int],
    order: Sequence[str],
    places: tuple[int, int],
) -> Part:
    width = len(node.input.schema)
    by = f"PARTITION BY {', '.join(f'c{index}' for index in partition)} " if partition else ""
    number = f"{function}() OVER ({by}ORDER BY {', '.join(order)})"
    first, last = places
    # Spark keeps only so many rows of each partition if it sees the bare comparison.
    ranked = part.plus({"place": number}).where([f"place <= {last}", *([f"place >= {first}"] if first > 1 else [])])
    if node.number is None:
        return ranked.select(names(width))
    return ranked.select(typed_texts([*names(width), "place"], [*types_of(node.schema[:width]), None], node.schema))
