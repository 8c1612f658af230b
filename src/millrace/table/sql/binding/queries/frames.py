"""Frames of OVER: which rows around a row its result is computed of."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from decimal import ROUND_FLOOR, Decimal
from typing import Any

from millrace.relational import types as t
from millrace.relational.rex import Distance, Frame, Literal, SortKey
from millrace.table.sql import nodes
from millrace.table.sql.binding.block import Block
from millrace.table.sql.binding.constants import constant
from millrace.table.sql.binding.dispatch import bind
from millrace.table.sql.binding.problems import fail

_ALL = Frame(True, None, 0)
_ROWS_ONLY = ("ROW_NUMBER", "RANK", "DENSE_RANK", "PERCENT_RANK", "CUME_DIST", "NTILE", "LAG", "LEAD")
_TIMES = (t.DateType, t.TimestampType, t.LocalZonedTimestampType)


def frame_of(tree: nodes.Window, function: str, order: Sequence[SortKey], spec: Any, block: Block) -> Frame:
    """The frame of a call."""
    if function in _ROWS_ONLY:
        if spec is not None:
            fail(tree, f"{function} has no frame: leave ROWS or RANGE away")
        if not order and function != "ROW_NUMBER":
            fail(tree, f"{function} needs an ORDER BY in its OVER clause")
        return _ALL
    if spec is None:
        return Frame(False, None, 0 if order else None)
    rows = spec.kind == "ROWS"
    if not order and not rows:
        fail(tree, "a RANGE needs an ORDER BY in the OVER clause")
    preceding = _bound(spec, "start", order, block)
    following = _bound(spec, "end", order, block)
    return Frame(rows, preceding, following)


def _bound(spec: Any, side: str, order: Sequence[SortKey], block: Block) -> Distance | None:
    """How far a bound lies outside of the current row: before it for ``start``, behind it for ``end``; negative on the
    other side of it. None for UNBOUNDED."""
    value = getattr(spec, side)
    if value == "UNBOUNDED":
        return None
    if value is None or value == "CURRENT ROW":
        return 0
    bound = constant(bind(value, block), block.zone)
    outside = "PRECEDING" if side == "start" else "FOLLOWING"
    sign = 1 if getattr(spec, f"{side}_side") == outside else -1
    if not isinstance(bound, Literal) or bound.value is None:
        fail(value, "the bound of a frame must be a constant")
    if spec.kind != "ROWS":
        return _distance(value, bound, sign, order)
    if not isinstance(bound.type, t.IntegralType):
        fail(value, "a bound of ROWS is a number of rows")
    return sign * int(bound.value)


def _distance(tree: nodes.Node, bound: Literal, sign: int, order: Sequence[SortKey]) -> Distance:
    """What a bound of RANGE is in numbers that the column of the ORDER BY has: no value lies between it and the bound
    that is written."""
    kind = order[0].expression.type
    if len(order) > 1:
        fail(tree, f"a RANGE with a distance is measured in one column: the ORDER BY has {len(order)}")
    if isinstance(bound.type, t.DayTimeIntervalType):
        if not isinstance(kind, _TIMES):
            fail(tree, f"a RANGE with an INTERVAL needs an ORDER BY of a DATE or timestamp, and this is {kind}")
        return sign * int(bound.value // datetime.timedelta(milliseconds=1))
    if not isinstance(bound.type, t.NumericType):
        fail(tree, "a bound of RANGE is an INTERVAL, or a number where the ORDER BY is one")
    if not isinstance(kind, t.NumericType):
        wanted = ": write an INTERVAL" if isinstance(kind, _TIMES) else ""
        fail(tree, f"a RANGE with a number needs an ORDER BY of a number, and this is {kind}{wanted}")
    if isinstance(kind, (t.FloatType, t.DoubleType)):
        return sign * float(bound.value)
    digits = kind.scale if isinstance(kind, t.DecimalType) else 0
    near = (sign * Decimal(str(bound.value))).quantize(Decimal(1).scaleb(-digits), ROUND_FLOOR)
    return near if digits else int(near)
