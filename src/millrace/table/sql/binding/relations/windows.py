"""Windowing table functions: TUMBLE, HOP, CUMULATE and SESSION in FROM."""

from __future__ import annotations

from millrace.relational.nodes import Field, Rel, Schema, WindowSpec, WindowTable
from millrace.relational.types import LocalZonedTimestampType, TimestampType
from millrace.table.sql import nodes
from millrace.table.sql.binding.intervals import milliseconds
from millrace.table.sql.binding.problems import fail
from millrace.table.sql.binding.relations.from_clause import From, Source, bind_relation
from millrace.table.sql.binding.relations.table_arguments import named_arguments, partition_columns
from millrace.table.sql.binding.relations.table_functions import table_function
from millrace.table.sql.binding.scopes import Scope
from millrace.table.sql.text.errors import did_you_mean

_PARAMETERS = {
    "TUMBLE": ("DATA", "TIMECOL", "SIZE", "OFFSET"),
    "HOP": ("DATA", "TIMECOL", "SLIDE", "SIZE", "OFFSET"),
    "CUMULATE": ("DATA", "TIMECOL", "STEP", "SIZE", "OFFSET"),
    "SESSION": ("DATA", "TIMECOL", "GAP"),
}
_OPTIONAL = ("OFFSET",)
_SYNTAX = {
    "TUMBLE": "TUMBLE(TABLE data, DESCRIPTOR(timecol), size [, offset])",
    "HOP": "HOP(TABLE data, DESCRIPTOR(timecol), slide, size [, offset])",
    "CUMULATE": "CUMULATE(TABLE data, DESCRIPTOR(timecol), step, size [, offset])",
    "SESSION": "SESSION(TABLE data [PARTITION BY (keycols, ...)], DESCRIPTOR(timecol), gap)",
}


@table_function(*_PARAMETERS)
def _window_table(call: nodes.Call, at: From) -> WindowTable:
    kind = call.name.upper()
    given = named_arguments(call, kind, _PARAMETERS[kind], _OPTIONAL, _SYNTAX[kind])
    data = given["DATA"]
    if not isinstance(data, nodes.TableArgument):
        fail(data, f"the first argument of {kind} is TABLE t or TABLE (SELECT ...)")
    source = bind_relation(data.this, at)
    time = _time_column(given["TIMECOL"], kind, source.plan, at)
    partition = _partition(data, kind, source)
    columns = source.plan.schema + _window_columns(source.plan.schema[time])
    return WindowTable(source.plan, _spec(call, kind, given, at), time, partition, columns)


def _time_column(tree: nodes.Node, kind: str, source: Rel, at: From) -> int:
    if not isinstance(tree, nodes.Descriptor) or len(tree.expressions) != 1:
        fail(tree, f"the time column of {kind} is given as DESCRIPTOR(column)")
    name = tree.expressions[0].name
    if name not in source.names:
        fail(tree, f"there is no column '{name}'{did_you_mean(name, source.names)}")
    column = source.schema[source.names.index(name)]
    if not isinstance(column.type, (TimestampType, LocalZonedTimestampType)):
        fail(tree, f"{kind} needs a column of type TIMESTAMP or TIMESTAMP_LTZ, and '{name}' is {column.type}")
    if at.environment.resolver.streaming and column.time is None:
        fail(
            tree,
            f"{kind} needs a time attribute, and '{name}' is none: declare a WATERMARK for it; a computation or a "
            "regular join in between ends a time attribute",
        )
    return source.names.index(name)


def _partition(data: nodes.TableArgument, kind: str, source: Source) -> tuple[int, ...]:
    if data.partition_by and kind != "SESSION":
        fail(data, f"{kind} takes no PARTITION BY: group by the columns instead; only SESSION does")
    return partition_columns(data, source.plan)


def _spec(call: nodes.Call, kind: str, given: dict[str, nodes.Node], at: From) -> WindowSpec:
    block = at.block(Scope(), f"an argument of {kind}")
    times = {name: milliseconds(given[name], block) for name in given if name not in ("DATA", "TIMECOL")}
    size = times["GAP"] if kind == "SESSION" else times["SIZE"]
    slide = times.get("SLIDE", times.get("STEP"))
    _check_lengths(call, kind, size, slide, kind == "HOP" and not at.environment.resolver.streaming)
    return WindowSpec(kind, size, slide, times.get("OFFSET", 0))


def _check_lengths(call: nodes.Call, kind: str, size: int, slide: int | None, any_size: bool) -> None:
    """Refuse lengths that make no windows.

    :param any_size: whether the size may be no multiple of the slide, as in batch mode, which makes no panes.
    """
    if size <= 0 or (slide is not None and slide <= 0):
        fail(call, f"the lengths of {kind} must be positive")
    if slide is not None and size % slide and not any_size:
        word = "slide" if kind == "HOP" else "step"
        fail(call, f"the size of {kind} ({size} ms) must be a multiple of its {word} ({slide} ms)")


def _window_columns(time: Field) -> Schema:
    bound = TimestampType(3, False)
    return (
        Field("window_start", bound),
        Field("window_end", bound),
        Field("window_time", time.type.not_null(), time.time),
    )
