"""Spans of time that a query must know when it is planned."""

from __future__ import annotations

import datetime

from millrace.relational.rex import Literal, Rex
from millrace.relational.types import DayTimeIntervalType
from millrace.table.sql import nodes
from millrace.table.sql.binding.block import Block
from millrace.table.sql.binding.constants import constant
from millrace.table.sql.binding.dispatch import bind
from millrace.table.sql.binding.problems import fail


def milliseconds(tree: nodes.Node, block: Block) -> int:
    """The length of ``INTERVAL '10' MINUTE``."""
    found = span_of(constant(bind(tree, block), block.zone))
    if found is None:
        fail(tree, "a constant span of time is needed here, such as INTERVAL '10' MINUTE")
    return found


def span_of(expression: Rex) -> int | None:
    """The milliseconds of a constant DAY-TIME interval; None for anything else."""
    if not isinstance(expression, Literal) or not isinstance(expression.type, DayTimeIntervalType):
        return None
    if expression.value is None:
        return None
    return int(expression.value // datetime.timedelta(milliseconds=1))
