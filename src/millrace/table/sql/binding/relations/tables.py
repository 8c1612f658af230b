"""Tables of the catalog as plans: computed columns and the watermark above what the connector reads."""

from __future__ import annotations

from collections.abc import Mapping

from millrace.relational.nodes import Field, Project, Rel, Watermark
from millrace.relational.rex import Ref
from millrace.relational.types import LocalZonedTimestampType, TimestampType
from millrace.table.sql import nodes
from millrace.table.sql.binding.block import Block, Environment
from millrace.table.sql.binding.dispatch import bind
from millrace.table.sql.binding.problems import fail
from millrace.table.sql.binding.resolver import TableInfo
from millrace.table.sql.binding.scopes import field_of, scope_of
from millrace.table.sql.text.errors import did_you_mean


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
