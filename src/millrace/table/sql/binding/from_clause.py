"""Binds FROM: tables (computed columns and the watermark above the columns that the connector reads), views,
subqueries, hints and TABLESAMPLE (each row is drawn on its own).

Functions over a whole table, ``TABLE(f(TABLE t, ...))``, are registered under their names: the windowing table
functions TUMBLE, HOP, CUMULATE and SESSION, TO_CHANGELOG and FROM_CHANGELOG; and READ_CSV and the like.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any, TypeAlias

from millrace.common.configuration import to_duration
from millrace.relational import types as t
from millrace.relational.functions.registry import call
from millrace.relational.nodes import (
    Field,
    Filter,
    Hinted,
    Project,
    Rel,
    Schema,
    Values,
    Watermark,
    WindowSpec,
    WindowTable,
)
from millrace.relational.nodes.rel import OP, from_changelog, to_changelog
from millrace.relational.rex import (
    Literal,
    Ref,
)
from millrace.relational.types import (
    LocalZonedTimestampType,
    TimestampType,
)
from millrace.table.sql import nodes
from millrace.table.sql.binding.expressions import milliseconds
from millrace.table.sql.binding.scope import (
    Block,
    Environment,
    Scope,
    TableInfo,
    bind,
    bind_rel,
    fail,
    field_of,
    fold,
    scope_of,
)
from millrace.util.names import did_you_mean, entered
from millrace.util.record import Record

# Tables, views and subqueries: hints

_KEYED = ("STATE_TTL", "LOOKUP")
_USAGE = {
    "OPTIONS": "'option' = 'value'",
    "STATE_TTL": "'table' = '1 d'",
    "LOOKUP": "'table' = 'name', 'retry-predicate' = 'lookup_miss', ...",
}
_LOOKUP = ("table", "async", "output-mode", "capacity", "timeout", "retry-predicate", "retry-strategy", "fixed-delay",
           "max-attempts", "shuffle")  # fmt: skip
"""the options of LOOKUP"""
_NAMED = ("BROADCAST", "SHUFFLE_HASH", "SHUFFLE_MERGE", "NEST_LOOP", "MULTI_JOIN")


def table_options(tree: nodes.Table) -> dict[str, str]:
    """What ``t /*+ OPTIONS('key' = 'value') */`` overrides."""
    options: dict[str, str] = {}
    for hint in tree.hints or []:
        for each in hint.expressions:
            if each.name != "OPTIONS":
                fail(each, f"a table takes the hint OPTIONS only; {each.name} belongs behind SELECT")
            options.update(_pairs(each))
    return options


def _pairs(call: nodes.HintCall) -> dict[str, str]:
    """The arguments of a hint that takes keys with values."""
    pairs = nodes.hint_options(call)
    if nodes.hint_names(call) or not pairs:
        fail(call, f"the hint {call.name} takes keys with values: {call.name}({_USAGE[call.name]})")
    return pairs


QueryHints = tuple[tuple[str, tuple[Any, ...]], ...]
"""Names with their arguments: ``(key, value)`` pairs, or names of tables."""


def query_hints(tree: nodes.Select) -> QueryHints:
    """The hints behind SELECT."""
    hint = tree.hint
    return () if hint is None else tuple(_hint(call) for call in hint.expressions)


def _hint(call: nodes.HintCall) -> tuple[str, tuple[Any, ...]]:
    if call.name in _KEYED:
        pairs = _pairs(call)
        if call.name == "STATE_TTL":
            _check_spans(call, pairs)
        else:
            _check_lookup(call, pairs)
        return call.name, tuple(pairs.items())
    if call.name in _NAMED:
        if nodes.hint_options(call) or not nodes.hint_names(call):
            fail(call, f"the hint {call.name} takes names of tables: {call.name}(a, b)")
        return call.name, nodes.hint_names(call)
    known = (*_KEYED, *_NAMED)
    meant = did_you_mean(call.name, known)
    return fail(
        call, f"unknown hint {call.name}{meant or ':'} there are {', '.join(known)}, and OPTIONS behind a table"
    )


def _check_spans(call: nodes.HintCall, pairs: dict[str, str]) -> None:
    for table, span in pairs.items():
        try:
            to_duration(span)
        except ValueError as error:
            fail(call, f"hint STATE_TTL of '{table}': {error}")


def _check_lookup(call: nodes.HintCall, pairs: dict[str, str]) -> None:
    for key in pairs:
        if key not in _LOOKUP:
            fail(call, f"the hint LOOKUP has no option '{key}'{did_you_mean(key, _LOOKUP)}")
    if "table" not in pairs:
        fail(call, f"the hint LOOKUP names its table: LOOKUP({_USAGE['LOOKUP']})")


def check_names(tree: nodes.Select, names: Sequence[str]) -> None:
    """Refuse hints that name no table of the query."""
    for name, args in query_hints(tree):
        if name == "LOOKUP":
            wanted = [value for key, value in args if key == "table"]
        else:
            wanted = [arg[0] if isinstance(arg, tuple) else arg for arg in args]
        for each in wanted:
            if each not in names:
                fail(tree.hint, f"hint {name}: there is no table '{each}' in FROM{did_you_mean(each, names)}")


def input_hinted(plan: Rel, hints: QueryHints, name: str | None) -> Rel:
    """The input of a join or an aggregation with the hints that are about it: ``("STATE_TTL", (duration,))``,
    ``("BROADCAST", ())``, ..."""
    about: list[tuple[str, tuple[Any, ...]]] = []
    for hint, args in hints:
        if hint == "STATE_TTL" and name in dict(args):
            about.append((hint, (dict(args)[name],)))
        elif hint in _NAMED and name in args:
            about.append((hint, ()))
    return Hinted(plan, tuple(about)) if about else plan


def lookup_options(hints: QueryHints, table: str) -> tuple[tuple[str, str], ...]:
    """The LOOKUP hint of the query around a join for this table, given by name or alias."""
    for name, pairs in hints:
        options = dict(pairs) if name == "LOOKUP" else {}
        if options.get("table") == table:
            return tuple((key, value) for key, value in options.items() if key != "table")
    return ()


# Tables of the catalog


def find_table(tree: nodes.Table, environment: Environment, options: Mapping[str, str]) -> TableInfo:
    """The table or view that a name means."""
    path = nodes.table_path(tree)
    info = environment.resolver.table(path, options)
    if info is None:
        known = [*environment.ctes, *environment.resolver.table_names()]
        fail(tree, f"there is no table or view '{'.'.join(path)}'{did_you_mean(path[-1], known)}")
    return info


def table_plan(info: TableInfo, environment: Environment) -> Rel:
    """A table with all its columns."""
    plan = info.plan
    if info.computed:
        plan = _with_computed(info, environment)
    if info.watermark is None:
        return plan
    name, tree = info.watermark
    column = plan.names.index(name)
    expression = bind(tree, Block(environment, scope_of(None, plan.schema), place="WATERMARK"))
    found = plan.schema[column].type
    if not isinstance(found, (TimestampType, LocalZonedTimestampType)) or found.precision > 3:
        fail(
            tree, f"column '{name}' has a watermark, so its type must be TIMESTAMP(3) or TIMESTAMP_LTZ(3), not {found}"
        )
    return Watermark(plan, column, expression)


def _with_computed(info: TableInfo, environment: Environment) -> Rel:
    columns = info.plan.schema
    block = Block(environment, scope_of(None, columns), place="a computed column")
    places = {column.name: Ref(column.type, at) for at, column in enumerate(columns)}
    expressions = tuple(
        bind(info.computed[name], block) if name in info.computed else places[name] for name in info.columns
    )
    fields = tuple(field_of(name, each, columns) for name, each in zip(info.columns, expressions))
    return Project(info.plan, expressions, fields)


def computed_field(name: str, tree: nodes.Node, columns: tuple[Field, ...], environment: Environment) -> Field:
    """The type of a computed column, for DDL: checks its expression against the columns."""
    block = Block(environment, scope_of(None, columns), place="a computed column")
    return field_of(name, bind(tree, block), columns)


# FROM


class Source(Record):
    """A part of a FROM clause: its rows and what its columns are called."""

    plan: Rel
    scope: Scope


class From(Record):
    """The surroundings in which an item of a FROM clause is bound."""

    environment: Environment
    outer: Block | None = None
    left: Source | None = None
    """the relation to the left of a LATERAL"""
    hints: QueryHints = ()
    """the hints of the query that the FROM clause belongs to"""
    where: nodes.Node | None = None
    """the condition of the query, which all rows have to meet"""

    def block(self, scope: Scope, place: str) -> Block:
        return Block(self.environment, scope, self.outer, place)


NOTHING = Source(Values((), ((),)), Scope())
"""One row without columns: what a query without FROM reads."""

RelationBinder: TypeAlias = Callable[[Any, From], Source]
_relations: dict[type[nodes.Node], RelationBinder] = {}


def binds_relation(*kinds: type[nodes.Node]) -> Callable[[RelationBinder], RelationBinder]:
    """Register the decorated function for these items of FROM."""
    return entered(_relations, *kinds)


def bind_relation(tree: nodes.Node, at: From) -> Source:
    """One item of FROM."""
    handler = _relations.get(type(tree))
    if handler is None:
        fail(tree, f"{type(tree).__name__} cannot stand in FROM")
    return handler(tree, at)


def is_lateral(tree: nodes.Node, at: From) -> bool:
    """Whether an item of FROM may read what stands to its left."""
    if isinstance(tree, nodes.TableFunction):
        path = nodes.call_path(tree.this)
        if path[-1].upper() not in table_function_names():
            return True
        # Flink has no functions of these names, so its programs may have some of their own.
        return path[-1].upper() in FORMATS and at.environment.resolver.function(path) is not None
    return isinstance(tree, (nodes.Lateral, nodes.Unnest))


@binds_relation(nodes.Table)
def _table(tree: nodes.Table, at: From) -> Source:
    path = nodes.table_path(tree)
    if tree.version is not None:
        fail(
            tree,
            "FOR SYSTEM_TIME AS OF stands on the right side of a JOIN; reading a table as of a constant time is not "
            "supported",
        )
    if len(path) == 1 and path[0] in at.environment.ctes:
        if table_options(tree):
            fail(tree, f"the hint OPTIONS takes tables: '{path[0]}' is a query of WITH, which can have it")
        return aliased(tree, Source(plan := at.environment.ctes[path[0]], scope_of(path[0], plan.schema)))
    info = find_table(tree, at.environment, table_options(tree))
    plan = table_plan(info, at.environment)
    return aliased(tree, Source(plan, scope_of(info.path[-1], plan.schema, info.path)))


@binds_relation(nodes.Subquery)
def _subquery(tree: nodes.Subquery, at: From) -> Source:
    plan = bind_rel(tree, at.environment, at.outer)
    return aliased(tree, Source(plan, scope_of(None, plan.schema)))


def aliased(tree: nodes.Relation, source: Source) -> Source:
    """With the alias of this item and its names for the columns."""
    alias = tree.alias
    if alias is None:
        return source
    columns = source.plan.schema
    names = [each.name for each in alias.columns or []]
    if names and len(names) != len(columns):
        fail(alias, f"{len(names)} names for {len(columns)} columns ({', '.join(each.name for each in columns)})")
    if names:
        columns = tuple(replace(column, name=name) for column, name in zip(columns, names))
    return Source(source.plan, scope_of(alias.name, columns))


def renamed(plan: Rel, names: Sequence[str]) -> Rel:
    """A plan whose columns have other names."""
    if [column.name for column in plan.schema] == list(names):
        return plan
    if isinstance(plan, Project):
        return replace(plan, columns=tuple(replace(column, name=name) for name, column in zip(names, plan.columns)))
    columns = tuple(Field(name, column.type, column.time) for name, column in zip(names, plan.schema))
    return Project(plan, tuple(Ref(column.type, at) for at, column in enumerate(plan.schema)), columns)


# TABLESAMPLE


@binds_relation(nodes.Sampled)
def _sampled(tree: nodes.Sampled, at: From) -> Source:
    """BERNOULLI and SYSTEM alike: rows lie in no blocks that all connectors have."""
    source = bind_relation(tree.this, at)
    share = Decimal(tree.percent) / 100
    if share == 1:
        return source
    seed = [] if tree.seed is None else [Literal(t.IntType(False), tree.seed)]
    drawn = call("<", [call("RAND", seed), Literal(t.DoubleType(False), float(share))])
    return Source(Filter(source.plan, drawn), source.scope)


# Table functions: functions by name

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
