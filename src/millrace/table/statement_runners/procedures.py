"""CALL: a procedure of a catalog."""

from __future__ import annotations

import inspect
from functools import reduce
from typing import TYPE_CHECKING, Any

from millrace.common.types import Row
from millrace.relational.nodes import Field
from millrace.relational.rex import Literal
from millrace.relational.types import DataType, string
from millrace.table.catalogs.objects import Procedure
from millrace.table.catalogs.paths import ObjectPath
from millrace.table.sessions.table_result import TableResult, done, listing
from millrace.table.sql import nodes
from millrace.table.sql import statements as s
from millrace.table.sql.binding.block import Block
from millrace.table.sql.binding.constants import fold
from millrace.table.sql.binding.dispatch import bind
from millrace.table.sql.binding.problems import fail
from millrace.table.values.inference import infer_type, merge_type
from millrace.table.values.problems import problem

if TYPE_CHECKING:
    from millrace.table.sessions.session import Session


def call(statement: s.Call, session: Session) -> TableResult:
    """What a procedure gives for constants: nothing, a value, or a list of values or ``Row`` objects, a row each.

    :raises TableException: there is no such procedure, or it takes other arguments.
    """
    identifier = session.catalogs.qualify(statement.path)
    catalog = session.catalogs.catalog(identifier.get_catalog_name())
    procedure = catalog.get_procedure(ObjectPath(identifier.get_database_name(), identifier.get_object_name()))
    given, named = _arguments(statement, session)
    _check(procedure, identifier.as_summary_string(), given, named)
    return _result(procedure.call(*given, **named))


def _arguments(statement: s.Call, session: Session) -> tuple[list[Any], dict[str, Any]]:
    given: list[Any] = []
    named: dict[str, Any] = {}
    for tree in statement.arguments:
        if isinstance(tree, nodes.Kwarg):
            named[tree.this.name] = _constant(tree.expression, session)
        elif named:
            fail(tree, "arguments with names come last")
        else:
            given.append(_constant(tree, session))
    return given, named


def _constant(tree: nodes.Node, session: Session) -> Any:
    value = fold(bind(tree, Block.of((), session).named("CALL")), session.zone)
    if not isinstance(value, Literal):
        fail(tree, "an argument of a procedure is a constant")
    return value.value


def _check(procedure: Procedure, name: str, given: list[Any], named: dict[str, Any]) -> None:
    """:raises TableException: these are not its parameters."""
    signature = inspect.signature(procedure.call)
    try:
        signature.bind(*given, **named)
    except TypeError as error:
        raise problem(f"procedure {name}{signature} does not take these arguments: {error}") from None


def _result(found: Any) -> TableResult:
    if found is None:
        return done()
    rows = list(found) if isinstance(found, (list, tuple)) and not isinstance(found, Row) else [found]
    if rows and all(isinstance(row, Row) for row in rows):
        names = rows[0]._fields or [f"f{at}" for at in range(len(rows[0]))]
        values = [tuple(row) for row in rows]
    else:
        names, values = ["result"], [(row,) for row in rows]
    columns = tuple(Field(name, _type([row[at] for row in values])) for at, name in enumerate(names))
    return listing(columns, values)


def _type(values: list[Any]) -> DataType:
    """The type that all values of a column have."""
    return reduce(merge_type, map(infer_type, values)) if values else string()
