"""Group windows: TUMBLE, HOP and SESSION as functions in GROUP BY, and the functions that give their bounds."""

from __future__ import annotations

from typing import TypeGuard

from millrace.relational.nodes import PROCTIME, Field, Schema, WindowSpec
from millrace.relational.rex import Ref, Rex
from millrace.relational.types import DataType, LocalZonedTimestampType, TimestampType
from millrace.table.sql import nodes
from millrace.table.sql.binding.block import Block
from millrace.table.sql.binding.dispatch import bind
from millrace.table.sql.binding.function_names import GROUP_WINDOWS, call_name
from millrace.table.sql.binding.intervals import milliseconds
from millrace.table.sql.binding.problems import fail
from millrace.util.record import Record

_SYNTAX = {
    "TUMBLE": "TUMBLE(time_attr, size_interval [, offset_time])",
    "HOP": "HOP(time_attr, slide_interval, size_interval [, offset_time])",
    "SESSION": "SESSION(time_attr, gap_interval)",
}


class GroupWindow(Record):
    """A window of GROUP BY over the column ``time`` of the FROM clause."""

    spec: WindowSpec
    time: Ref


def is_group_window(tree: nodes.Node) -> TypeGuard[nodes.Call]:
    return call_name(tree) in GROUP_WINDOWS


def bind_group_window(tree: nodes.Call, block: Block) -> GroupWindow:
    """``TUMBLE(ts, INTERVAL '10' MINUTE)`` and its like."""
    kind = call_name(tree)
    arguments = tree.expressions
    intervals = {"TUMBLE": (1, 2), "HOP": (2, 3), "SESSION": (1, 1)}[kind]
    if not intervals[0] + 1 <= len(arguments) <= intervals[1] + 1:
        fail(tree, f"{kind} is called as {_SYNTAX[kind]}")
    time = bind(arguments[0], block)
    times = [milliseconds(each, block) for each in arguments[1:]]
    _check_time(arguments[0], kind, time, block)
    assert isinstance(time, Ref)
    if kind == "TUMBLE":
        return GroupWindow(WindowSpec(kind, times[0], None, times[1] if len(times) > 1 else 0), time)
    if kind == "HOP":
        return GroupWindow(WindowSpec(kind, times[1], times[0], times[2] if len(times) > 2 else 0), time)
    return GroupWindow(WindowSpec(kind, times[0]), time)


def _check_time(tree: nodes.Node, kind: str, time: Rex, block: Block) -> None:
    attribute = isinstance(time, Ref) and block.scope.fields[time.index].time is not None
    if block.environment.resolver.streaming and not attribute:
        fail(
            tree,
            f"{kind} needs a time attribute: a column with a WATERMARK, or PROCTIME(), that no computation and no "
            f"regular join has come between",
        )
    if not isinstance(time, Ref) or not isinstance(time.type, (TimestampType, LocalZonedTimestampType)):
        fail(tree, f"{kind} needs a column of type TIMESTAMP or TIMESTAMP_LTZ, and this is {time.type}")


def property_fields(window: GroupWindow, properties: list[str], columns: Schema) -> Schema:
    """The columns that the properties of a window become."""
    return tuple(_property(each, columns[window.time.index]) for each in properties)


def _property(name: str, time: Field) -> Field:
    if name == "ROWTIME":
        return Field("w$rowtime", time.type, time.time)
    if name == "PROCTIME":
        return Field("w$proctime", LocalZonedTimestampType(3, False), PROCTIME)
    return Field(f"w${name.lower()}", property_type(name, time))


def property_type(name: str, time: Field) -> DataType:
    """The type of TUMBLE_START and its like."""
    if name == "ROWTIME":
        return time.type
    return LocalZonedTimestampType(3, False) if name == "PROCTIME" else TimestampType(3, False)
