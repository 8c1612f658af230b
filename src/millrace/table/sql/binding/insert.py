"""Binds INSERT: converts the rows of a query to the columns and types of a table, with the casts that are implicit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from millrace.relational import types as t
from millrace.relational.functions.registry import cast_to, is_bytes, is_number, is_text
from millrace.relational.nodes import Field, Project, Rel, Sink
from millrace.relational.rex import Literal, Ref, Rex
from millrace.relational.type_table import Family, family_of, parts_of
from millrace.relational.types import DataType, NullType, UserDefinedType
from millrace.table.sql import nodes
from millrace.table.sql.binding.scope import (
    Block,
    Environment,
    Resolver,
    Scope,
    SinkInfo,
    bind,
    bind_rel,
    fail,
    field_of,
    fold,
    reported,
)
from millrace.table.sql.statements import Insert, PartitionSpec
from millrace.table.sql.text import Name
from millrace.util.names import did_you_mean

# Implicit casts

_TIMES = (Family.DATE, Family.TIMESTAMP, Family.INSTANT)
_OF_PARAMETERS = (Family.TIME, Family.MONTHS, Family.SPAN, Family.ARRAY, Family.MAP, Family.ROW)
"""values of another length or precision are values of the same kind; parts are looked at one by one"""


def fits(found: DataType, wanted: DataType) -> bool:
    """Whether values go into a column without a CAST: text into text, numbers into numbers, times into times, and the
    parts of constructed types alike."""
    if isinstance(found, t.NullType) or found.is_same(wanted):
        return True
    if (is_text(found) and is_text(wanted)) or (is_bytes(found) and is_bytes(wanted)):
        return True
    if is_number(found) and is_number(wanted):
        return True
    if family_of(found) in _TIMES and family_of(wanted) in _TIMES:
        return True
    return type(found) is type(wanted) and _parts_fit(found, wanted)


def _parts_fit(found: DataType, wanted: DataType) -> bool:
    mine, others = parts_of(found), parts_of(wanted)
    known = family_of(found) in _OF_PARAMETERS
    return known and len(mine) == len(others) and all(map(fits, mine, others))


# INSERT


def bind_insert(statement: Insert, resolver: Resolver) -> Sink:
    """``INSERT INTO t [PARTITION (...)] [(columns)] query``.

    :raises SqlValidationError: the table, a column, or a type does not fit.
    """
    path = statement.path
    sink = resolver.sink(tuple(path), statement.options)
    if sink is None:
        fail(path, f"there is no table '{path}' to insert into{did_you_mean(path[-1], resolver.table_names())}")
    environment, query = Environment(resolver), statement.query.tree
    with reported(query):
        plan = bind_rel(query, environment)
    static = _static(statement.partition, sink, environment)
    made = insert_plan(plan, sink, statement.columns or None, static, statement.overwrite, query)
    return replace(made, on_conflict=statement.on_conflict) if statement.on_conflict else made


def insert_plan(
    plan: Rel,
    sink: SinkInfo,
    columns: Sequence[str] | None = None,
    static: Mapping[str, Literal] | None = None,
    overwrite: bool = False,
    tree: nodes.Node | None = None,
) -> Sink:
    """The rows of a plan written to a table, cast to its types; columns that are not named are NULL."""
    static = static or {}
    table = {column.name: column for column in sink.columns}
    for name in columns or ():
        _check_column(name if isinstance(name, Name) else tree, name, table, sink, static)
    wanted = list(columns) if columns is not None else [name for name in sink.names if name not in static]
    if len(wanted) != len(plan.schema):
        given = ", ".join(f"{each.name} {each.type}" for each in plan.schema)
        fail(
            tree,
            f"'{sink.path[-1]}' takes {len(wanted)} columns ({', '.join(wanted)}), and the query gives "
            f"{len(plan.schema)} ({given})",
        )
    given_at = {name: Ref(column.type, at) for at, (name, column) in enumerate(zip(wanted, plan.schema))}
    expressions: list[Rex] = [
        static.get(column.name) or given_at.get(column.name) or Literal(NullType(), None) for column in sink.columns
    ]
    cast = tuple(_cast(tree, each, column, sink) for each, column in zip(expressions, sink.columns))
    fields = tuple(field_of(column.name, each, plan.schema) for each, column in zip(cast, sink.columns))
    same = all(isinstance(each, Ref) and each.index == at for at, each in enumerate(cast))
    # Whoever writes rows by their key looks for its columns by name.
    if not same or [each.name for each in fields] != plan.names:
        plan = Project(plan, cast, fields)
    partition = tuple((name, each.value) for name, each in static.items())
    return Sink(plan, sink.path, sink.sink, overwrite, partition, sink.columns)


def _check_column(
    where: nodes.Node | Name | None,
    name: str,
    table: Mapping[str, Field],
    sink: SinkInfo,
    static: Mapping[str, Literal],
) -> None:
    if name in sink.not_written:
        fail(where, f"column '{name}' of '{sink.path[-1]}' is computed or virtual: it cannot be written")
    if name not in table:
        fail(where, f"'{sink.path[-1]}' has no column '{name}'{did_you_mean(name, table)}")
    if name in static:
        fail(where, f"column '{name}' has its value from PARTITION already")


def _cast(tree: nodes.Node | None, expression: Rex, column: Field, sink: SinkInfo) -> Rex:
    if isinstance(expression, Literal) and expression.value is None and not column.type.is_nullable:
        fail(tree, f"column '{column.name}' of '{sink.path[-1]}' is NOT NULL and must get a value")
    if isinstance(expression, Ref) and isinstance(expression.type, UserDefinedType):
        # Its column has the values of its SQL type.
        expression = Ref(expression.type.sql_type(), expression.index)
    if not fits(expression.type, column.type):
        fail(
            tree,
            f"column '{column.name}' of '{sink.path[-1]}' is {column.type}, and the query gives "
            f"{expression.type}: CAST it",
        )
    return cast_to(expression, column.type)


def _static(partition: PartitionSpec, sink: SinkInfo, environment: Environment) -> dict[str, Literal]:
    types: dict[str, DataType] = {column.name: column.type for column in sink.columns}
    block = Block(environment, Scope(), place="PARTITION")
    static: dict[str, Literal] = {}
    for name, tree in partition:
        if name not in sink.partition_keys:
            known = ", ".join(sink.partition_keys) or "none"
            fail(name, f"'{name}' is no partition column of '{sink.path[-1]}' (partition columns: {known})")
        if tree is None:
            continue
        value = fold(cast_to(bind(tree, block), types[name]), block.zone)
        if not isinstance(value, Literal):
            fail(tree, "a value of PARTITION must be a constant")
        static[str(name)] = value
    return static
