"""Binds functions over a whole table in FROM, ``TABLE(f(TABLE t, ...))``, each registered under its names: the
windowing table functions TUMBLE, HOP, CUMULATE and SESSION, TO_CHANGELOG and FROM_CHANGELOG; and READ_CSV and the
like."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from millrace.relational.nodes import Field, Rel, Schema, WindowSpec, WindowTable
from millrace.relational.nodes.row_nodes import OP, from_changelog, to_changelog
from millrace.relational.rex import Literal
from millrace.relational.types import LocalZonedTimestampType, TimestampType
from millrace.table.sql import nodes
from millrace.table.sql.binding.expressions import milliseconds
from millrace.table.sql.binding.from_clause import From, Source, aliased, bind_relation, binds_relation, table_plan
from millrace.table.sql.binding.scope import Scope, bind, fail, fold, scope_of
from millrace.util.names import did_you_mean, entered

# Functions by name

TableFunction = Callable[[nodes.Call, From], Rel]
"""(the call, where FROM stands) -> its plan"""

_functions: dict[str, TableFunction] = {}


def table_function(*names: str) -> Callable[[TableFunction], TableFunction]:
    """Register the decorated function for calls of these names, in a module beside this one."""
    return entered(_functions, *names)


def table_function_names() -> list[str]:
    return list(_functions)


@binds_relation(nodes.TableFunction)
def _call(tree: nodes.TableFunction, at: From) -> Source:
    assert isinstance(tree.this, nodes.Call)
    plan = _functions[tree.this.name.upper()](tree.this, at)
    return aliased(tree, Source(plan, scope_of(None, plan.schema)))


# Arguments that are tables

_DEFAULT = nodes.Var(this="DEFAULT")


def named_arguments(
    call: nodes.Call, function: str, names: Sequence[str], optional: Sequence[str], syntax: str
) -> dict[str, nodes.Node]:
    """The arguments by their names, also where they are given by position. DEFAULT is as if it were not given."""
    given: dict[str, nodes.Node] = {}
    for position, argument in enumerate(call.expressions):
        if isinstance(argument, nodes.Kwarg):
            name, value = argument.this.name.upper(), argument.expression
            if name not in names:
                fail(argument, f"{function} has no parameter {name} (usage: {syntax}){did_you_mean(name, names)}")
        else:
            if position >= len(names):
                fail(argument, f"too many arguments; usage: {syntax}")
            name, value = names[position], argument
        if name in given:
            fail(argument, f"parameter {name} of {function} is given twice")
        given[name] = value
    given = {name: value for name, value in given.items() if value != _DEFAULT}
    for name in ("DATA", "INPUT"):
        query = given.get(name)
        if isinstance(query, nodes.Subquery):
            given[name] = nodes.TableArgument(this=query, partition_by=(), order=None)
    missing = [name for name in names if name not in given and name not in optional]
    if missing:
        fail(call, f"{function} needs {', '.join(missing)}; usage: {syntax}")
    return given


def partition_columns(data: nodes.TableArgument, source: Rel) -> tuple[int, ...]:
    """The columns of PARTITION BY."""
    names = list(map(nodes.name_of, data.partition_by))
    for name in names:
        if name not in source.names:
            fail(data, f"PARTITION BY: there is no column '{name}'{did_you_mean(name, source.names)}")
    return tuple(source.names.index(name) for name in names)


# Windows

_WINDOW_PARAMETERS = {
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


@table_function(*_WINDOW_PARAMETERS)
def _window_table(call: nodes.Call, at: From) -> WindowTable:
    kind = call.name.upper()
    given = named_arguments(call, kind, _WINDOW_PARAMETERS[kind], _OPTIONAL, _SYNTAX[kind])
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


# Changelogs

_CHANGELOG_PARAMETERS = ("INPUT", "OP", "OP_MAPPING", "ON_TIME", "UID", "INVALID_OP_HANDLING")
"""Parameters in Flink's order; the last one, which Flink 2.3.0 does not have, can be given by name only."""


@table_function("TO_CHANGELOG", "FROM_CHANGELOG")
def _changelog(call: nodes.Call, at: From) -> Rel:
    name = call.name.upper()
    names = _CHANGELOG_PARAMETERS if name == "FROM_CHANGELOG" else _CHANGELOG_PARAMETERS[:5]
    syntax = f"{name}(input => TABLE t [PARTITION BY key] [, op => DESCRIPTOR(op)] [, op_mapping => MAP['..', '..']])"
    given = named_arguments(call, name, names, names[1:], syntax)
    if "ON_TIME" in given:
        fail(given["ON_TIME"], f"{name} takes no on_time: its result has the time attributes of no column")
    if "UID" in given:
        _text(given["UID"], at)  # the function keeps no state that would need a name
    data = given["INPUT"]
    if not isinstance(data, nodes.TableArgument):
        fail(data, f"the first argument of {name} is TABLE t or TABLE (SELECT ...)")
    source = bind_relation(data.this, at).plan
    partition = partition_columns(data, source)
    op = _column(given["OP"], name) if "OP" in given else OP
    mapping = _mapping(given["OP_MAPPING"], at) if "OP_MAPPING" in given else None
    try:
        if name == "TO_CHANGELOG":
            return to_changelog(source, op, mapping, partition)
        handling = _text(given["INVALID_OP_HANDLING"], at) if "INVALID_OP_HANDLING" in given else "FAIL"
        return from_changelog(source, op, mapping, partition, handling)
    except ValueError as error:
        return fail(call, str(error))


def _column(tree: nodes.Node, name: str) -> str:
    if not isinstance(tree, nodes.Descriptor) or len(tree.expressions) != 1:
        fail(tree, f"the column with the codes of {name} is given as DESCRIPTOR(column)")
    return str(tree.expressions[0].name)


def _mapping(tree: nodes.Node, at: From) -> list[tuple[str, str]]:
    if not isinstance(tree, nodes.BuiltIn) or tree.this != "MAP":
        fail(tree, "op_mapping is given as MAP['from', 'to', ...]")
    texts = [_text(each, at) for each in tree.expressions]
    return list(zip(texts[::2], texts[1::2]))


def _text(tree: nodes.Node, at: From) -> str:
    block = at.block(Scope(), "an argument")
    value = fold(bind(tree, block), block.zone)
    if not isinstance(value, Literal) or not isinstance(value.value, str):
        fail(tree, "this must be a text that is constant")
    return value.value


# READ_CSV

FORMATS = {
    "READ_FILE": None,
    "READ_AVRO": "avro",
    "READ_CSV": "csv",
    "READ_JSON": "json",
    "READ_ORC": "orc",
    "READ_PARQUET": "parquet",
}
"""function -> the format that it reads; None: by the ending of the path"""


@table_function(*FORMATS)
def _read(call: nodes.Call, at: From) -> Rel:
    name = call.name.upper()
    block = at.block(Scope(), "an argument")
    path = fold(bind(call.expressions[0], block), block.zone) if len(call.expressions) == 1 else None
    if not isinstance(path, Literal) or not isinstance(path.value, str):
        fail(call, f"usage: {name}('path of a file, a folder or a pattern')")
    return table_plan(at.environment.resolver.file(path.value, FORMATS[name]), at.environment)
