"""How Spark collects the rows of groups for the values that Python makes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from millrace.relational.functions.aggregates.spark_texts import Texts
from millrace.relational.rex import AggCall
from millrace.spark.tables.steps.context import Context
from millrace.spark.tables.steps.finishing import Unpacked, as_they_are
from millrace.spark.tables.steps.frames import names
from millrace.spark.tables.steps.packing import PackedCall, PackTask, can_pack
from millrace.spark.tables.steps.parts import Part, numbered
from millrace.spark.tables.texts.aggregate_texts import collected_text
from millrace.spark.tables.texts.types import numbered_schema


@dataclass(frozen=True)
class Collected:
    """Rows that are yet to be grouped."""

    part: Part
    keys: Sequence[str]
    texts: Sequence[str]
    """for each call the aggregate of Spark that makes lists"""
    unpacked: Sequence[Unpacked]
    """for each call what makes lists of its rows of those"""


def collected(part: Part, keys: Sequence[str], calls: Sequence[AggCall], texts: Sequence[Texts]) -> Collected:
    """Spark collects row by row.

    :param texts: of each call.
    """
    lists = [collected_text(call, each) for call, each in zip(calls, texts)]
    return Collected(part, keys, lists, [as_they_are] * len(calls))


def collected_in_packs(
    part: Part, keys: Sequence[str], calls: Sequence[AggCall], texts: Sequence[Texts], context: Context
) -> Collected | None:
    """Spark collects packs of rows that Python has put together.

    :param texts: of each call.
    :returns: None: Arrow cannot tell these keys apart.
    """
    packed = tuple(map(PackedCall.of, calls))
    columns = [column for call, each in zip(packed, texts) for column in call.columns(each)]
    rows = part.select(numbered([*keys, *columns]))
    width = len(keys)
    types = rows.types[:width]
    if not can_pack(types):
        return None
    schema = numbered_schema([*types, *(call.spark_type for call in packed)])
    packs = rows.in_python(PackTask(width, packed), schema, partial(context.ship, what="rows with equal keys"))
    lists = [f"collect_list({name})" for name in names(len(packed), width)]
    return Collected(packs, names(width), lists, [call.unpacked for call in packed])
