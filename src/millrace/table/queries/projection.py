"""Plans of Table API queries without groups: the columns of a select, columns added, dropped or renamed, expressions
that give rows, joins, set operations, and the arguments of ``to_changelog`` and ``from_changelog``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from millrace.relational import types as t
from millrace.relational.functions.registry import cast_to, common_type
from millrace.relational.nodes import Correlate, Field, Join, Project, Rel, Schema, SetOp
from millrace.relational.nodes.rel import from_changelog, to_changelog
from millrace.relational.rex import TRUE, Ref, Rex
from millrace.relational.rules.subqueries import unnest
from millrace.relational.types import DataType, RowType
from millrace.table.expression_methods.expression_base import node_of
from millrace.table.sql import nodes
from millrace.table.sql.binding.calls import call_arguments, cast_arguments, find_user_function
from millrace.table.sql.binding.scope import (
    TABLE,
    Block,
    Environment,
    Resolver,
    access,
    bind,
    bind_all,
    bind_condition,
    bind_rel,
    column_at,
)
from millrace.table.sql.program_text import shown
from millrace.table.values.program_errors import problem
from millrace.util.names import did_you_mean

# Columns of a select


@dataclass(frozen=True)
class Item:
    """One column of a select. ``name`` None: it was given none."""

    node: nodes.Node
    name: str | None


def expand(fields: Sequence[nodes.Node], block: Block) -> list[Item]:
    """One item a column."""
    found: list[Item] = []
    for node in fields:
        if isinstance(node, nodes.Star):
            found += [_item_at(at, block) for at in range(len(block.columns))]
        elif isinstance(node, nodes.Columns):
            found += [_item_at(at, block) for at in chosen(node, block)]
        elif isinstance(node, nodes.Dot) and isinstance(node.expression, nodes.Star):
            found += _flattened(node.this, block)
        else:
            found.append(Item(node, _name(node)))
    return found


def _item_at(at: int, block: Block) -> Item:
    name = block.columns[at].name
    return Item(nodes.Position(at, name), name)


def chosen(node: nodes.Columns, block: Block) -> list[int]:
    """The positions that ``with_columns`` or ``without_columns`` stand for."""
    found: list[int] = []
    for item in node.expressions:
        if isinstance(item, nodes.Columns):
            found += chosen(item, block)
        elif isinstance(item, nodes.Star):
            found += range(len(block.columns))
        elif isinstance(item, nodes.Range):
            found += range(_place(item.start, block), _place(item.end, block) + 1)
        elif isinstance(item, nodes.Column):
            found.append(column_at(item.name, block))
        elif isinstance(item, nodes.Constant):
            found.append(_place(item.value, block))
        else:
            raise problem(f"{shown(node)}: {shown(item)} is no column: give names, positions from 1, or range_")
    if not node.without:
        return found
    left = [index for index in range(len(block.columns)) if index not in found]
    if not left:
        raise problem(f"{shown(node)} leaves no column")
    return left


def _place(key: object, block: Block) -> int:
    if isinstance(key, str):
        return column_at(key, block)
    if not isinstance(key, int) or not 1 <= key <= len(block.columns):
        raise problem(f"there is no column {key}: positions are from 1 to {len(block.columns)}")
    return key - 1


def _flattened(child: nodes.Node, block: Block) -> list[Item]:
    found = bind(child, block)
    if not isinstance(found.type, t.RowType):
        return [Item(child, _name(child))]
    base = _name(child)
    fields = [(nodes.Dot(child, nodes.Identifier(name)), name) for name in found.type.names]
    return [Item(field, None if base is None else f"{base}${name}") for field, name in fields]


def _name(node: nodes.Node) -> str | None:
    """The name that a column has by itself; Flink's names for parts and casts."""
    if isinstance(node, nodes.Alias):
        if len(node.names) > 1:
            raise problem(f"{shown(node)}: several names are for a function that makes several columns")
        return node.names[0]
    if isinstance(node, nodes.Column):
        return node.name
    if isinstance(node, nodes.Position):
        return node.shown or None
    if isinstance(node, nodes.Dot):
        base = _name(node.this)
        before = "_" if isinstance(node.expression, nodes.Literal) else ""
        return None if base is None else f"{base}${before}{nodes.name_of(node.expression)}"
    if isinstance(node, nodes.Cast):
        base = _name(node.this)
        return None if base is None else f"{base}-{node.to.data_type}"
    return None


def named(items: Sequence[Item]) -> list[str]:
    """The names of all columns: ``_c0``, ``_c1``, ... by position where none was given.

    :raises TableException: a name is there twice.
    """
    names: list[str] = []
    for index, item in enumerate(items):
        name = f"_c{index}" if item.name is None else item.name
        if name in names:
            raise problem(f"two columns are called '{name}': name one of them with alias")
        names.append(name)
    return names


def project(plan: Rel, expressions: Sequence[Rex], names: Sequence[str]) -> Rel:
    """Compute columns; plain references keep their time attribute. Nothing is added where nothing changes."""
    columns = tuple(field_for(name, rex, plan.schema) for name, rex in zip(names, expressions))
    same = all(isinstance(rex, Ref) and rex.index == index for index, rex in enumerate(expressions))
    if same and columns == plan.schema:
        return plan
    return unnest(Project(plan, tuple(expressions), columns))


def field_for(name: str, rex: Rex, schema: Schema) -> Field:
    time = schema[rex.index].time if isinstance(rex, Ref) else None
    return Field(name, rex.type, time)


def select(plan: Rel, fields: Sequence[nodes.Node], block: Block) -> Rel:
    """A select without aggregates."""
    items = expand(fields, block)
    if not items:
        raise problem("select needs a column")
    return project(plan, [bind(item.node, block) for item in items], named(items))


def renamed(plan: Rel, names: Sequence[str]) -> Rel:
    """Rename the columns of a plan."""
    return project(plan, [Ref(column.type, index) for index, column in enumerate(plan.schema)], names)


def mapped(plan: Rel, node: nodes.Node, block: Block) -> Rel:
    """The result of one scalar function as all columns: the fields of a row, or one column."""
    names: tuple[str, ...] = ()
    if isinstance(node, nodes.Alias):
        names, node = node.names, node.this
    value = bind(node, block)
    parts: list[Rex] = [value]
    own = ["f0"]
    if isinstance(value.type, t.RowType):
        own = value.type.names
        parts = [access(node, value, [name]) for name in own]
    if names and len(names) != len(parts):
        raise problem(f"{shown(node)} makes {len(parts)} columns, and alias gives {len(names)} names")
    return project(plan, parts, names or own)


# Columns added, replaced, dropped, renamed


def added(plan: Rel, fields: Sequence[nodes.Node], block: Block) -> Rel:
    """Append new columns to those of a plan."""
    return select(plan, [nodes.Star(), *fields], block)


def replaced_or_added(plan: Rel, fields: Sequence[nodes.Node], block: Block) -> Rel:
    """Columns in place of those with the same name, or behind."""
    columns: dict[str, Rex] = {name: block.ref(index) for index, name in enumerate(plan.names)}
    items = expand(fields, block)
    for item, name in zip(items, named(items)):
        columns[name] = bind(item.node, block)
    return project(plan, list(columns.values()), list(columns))


def dropped(plan: Rel, fields: Sequence[nodes.Node], block: Block) -> Rel:
    """Drop these columns of a plan."""
    kept = chosen(nodes.Columns(tuple(fields), True), block)
    return project(plan, [block.ref(index) for index in kept], [plan.names[index] for index in kept])


def with_new_names(plan: Rel, fields: Sequence[nodes.Node], block: Block) -> Rel:
    """``col("a").alias("b")`` renames a column."""
    names = list(plan.names)
    for node in fields:
        if not isinstance(node, nodes.Alias) or not isinstance(node.this, nodes.Column) or node.others:
            raise problem(f"rename_columns takes col('old').alias('new'), not {shown(node)}")
        names[column_at(node.this.name, block)] = node.alias.this
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise problem(f"two columns would be called {', '.join(twice)}")
    return renamed(plan, names)


# Rows of expressions


def values_of_expressions(given: Sequence[Any], schema: DataType | Sequence[str] | None, resolver: Resolver) -> Rel:
    """A row for each expression; ``row(..)`` is one of as many columns as it has arguments.

    :param schema: a ROW type, the type of a single column, names of columns, or None: f0, f1, ...
    """
    rows = tuple(nodes.Tuple(_cells(node_of(each))) for each in given)
    plan = bind_rel(nodes.Values(rows), Environment(resolver))
    own = [Ref(column.type, at) for at, column in enumerate(plan.schema)]
    names = [f"f{at}" for at in range(len(own))]
    kinds = [ref.type for ref in own]
    if isinstance(schema, RowType):
        names, kinds = schema.field_names(), schema.field_types()
    elif isinstance(schema, DataType):
        kinds = [schema]
    elif schema is not None:
        names = [*schema, *names[len(schema) :]]
    if not len(names) == len(kinds) == len(own):
        raise problem(f"the rows have {len(own)} values, and the schema {max(len(names), len(kinds))} columns")
    return project(plan, [cast_to(ref, kind) for ref, kind in zip(own, kinds)], names)


def _cells(node: nodes.Node) -> tuple[nodes.Node, ...]:
    return node.expressions if isinstance(node, nodes.BuiltIn) and node.this == "ROW" else (node,)


# Joins and set operations


def joined(left: Rel, right: Rel, kind: str, predicate: nodes.Node | None, block: Block) -> Rel:
    """A regular join.

    :raises TableException: a name is on both sides.
    """
    twice = sorted(set(left.names) & set(right.names))
    if twice:
        raise problem(f"both sides of the join have {', '.join(twice)}: rename them on one side with rename_columns")
    both = block.over(left.schema + right.schema)
    condition: Rex = TRUE if predicate is None else bind_condition(predicate, both)
    return Join(left, right, kind, condition)


def lateral(plan: Rel, call: nodes.Node, left: bool, predicate: nodes.Node | None, block: Block) -> Rel:
    """Each row with the rows that a table function makes of it."""
    produced = correlated(plan, call, left, block)
    twice = sorted(set(plan.names) & {column.name for column in produced.produced})
    if twice:
        raise problem(f"{shown(call)} makes columns that are there: {', '.join(twice)}; name its columns with alias")
    if predicate is None:
        return produced
    condition = bind_condition(predicate, block.over(produced.schema))
    if left and condition != TRUE:
        raise problem("a left outer join with a table function takes no condition but lit(True): filter the result")
    return replace(produced, condition=condition)


def correlated(plan: Rel, call: nodes.Node, left: bool, block: Block) -> Correlate:
    """The columns of the input, then those of a table function."""
    names: tuple[str, ...] = ()
    if isinstance(call, nodes.Alias):
        names, call = call.names, call.this
    user = find_user_function(call, block)
    if user is None or user.kind != TABLE:
        raise problem(f"{shown(call)} is no table function: make one with udtf()")
    names = names or user.wrapper._alias_names
    if names and len(names) != len(user.columns):
        raise problem(f"{shown(call)} makes {len(user.columns)} columns, and alias gives {len(names)} names")
    produced = tuple(replace(column, name=name) for column, name in zip(user.columns, names)) or user.columns
    args = cast_arguments(call, user, bind_all(call_arguments(call), block))
    return Correlate(plan, user.name, tuple(args), produced, left, udf=user.wrapper)


def combined(kind: str, keep_duplicates: bool, left: Rel, right: Rel) -> Rel:
    """UNION, INTERSECT or EXCEPT. The columns have the names of the left side."""
    if len(left.schema) != len(right.schema):
        raise problem(f"{kind} of tables with {len(left.schema)} and {len(right.schema)} columns")
    columns = []
    for a, b in zip(left.schema, right.schema):
        wanted = common_type([a.type, b.type])
        if wanted is None:
            raise problem(f"{kind}: column '{a.name}' is {a.type}, and '{b.name}' on the other side {b.type}")
        columns.append(Field(a.name, wanted, a.time if a.time == b.time else None))
    branches: list[Rel] = []
    for side in (left, right):
        branches += _branches(side, kind, keep_duplicates, columns) or [_cast(side, columns)]
    return SetOp(kind, keep_duplicates, tuple(branches), tuple(columns))


def _branches(plan: Rel, kind: str, keep_duplicates: bool, columns: Sequence[Field]) -> list[Rel]:
    """What a UNION is of that becomes a part of another one, so that hundreds of tables are not hundreds of levels."""
    same = isinstance(plan, SetOp) and plan.kind == kind == "UNION" and plan.all == keep_duplicates
    fits = [old.type for old in plan.schema] == [new.type for new in columns]
    return list(plan.inputs) if same and fits else []


def _cast(plan: Rel, columns: list[Field]) -> Rel:
    rexes = [cast_to(Ref(old.type, at), new.type) for at, (old, new) in enumerate(zip(plan.schema, columns))]
    return project(plan, rexes, plan.names)


# Changelogs

_OP, _MAPPING, _HANDLING = "op", "op_mapping", "invalid_op_handling"


def with_codes(plan: Rel, arguments: Sequence[nodes.Node]) -> Rel:
    """The changes of a table as insertions, each with its code."""
    return _made(lambda given: to_changelog(plan, **given), arguments, (_OP, _MAPPING))


def without_codes(plan: Rel, arguments: Sequence[nodes.Node]) -> Rel:
    """The table that insertions with codes of changes make."""
    return _made(lambda given: from_changelog(plan, **given), arguments, (_OP, _MAPPING, _HANDLING))


def _made(make: Callable[[dict[str, Any]], Rel], arguments: Sequence[nodes.Node], names: Sequence[str]) -> Rel:
    given: dict[str, Any] = {}
    for position, argument in enumerate(arguments):
        name, node = "", argument
        if isinstance(argument, nodes.Kwarg):
            name, node = argument.this.this, argument.expression
        if not name and position < len(names):
            name = names[position]
        if name not in names:
            raise problem(f"{shown(argument)}: the arguments are {', '.join(names)}{did_you_mean(name, names)}")
        if name in given:
            raise problem(f"argument {name} is given twice")
        given[name] = node
    try:
        return make(_values(given))
    except ValueError as error:
        raise problem(str(error)) from None


def _values(given: dict[str, nodes.Node]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if _OP in given:
        found["op"] = _descriptor_column(given[_OP])
    if _MAPPING in given:
        found["mapping"] = _mapping(given[_MAPPING])
    if _HANDLING in given:
        found["handling"] = _constant(given[_HANDLING])
    return found


def _descriptor_column(node: nodes.Node) -> str:
    if not isinstance(node, nodes.Descriptor) or len(node.expressions) != 1:
        raise problem(f"the column with the codes is given as descriptor('name'), not {shown(node)}")
    return node.expressions[0].this


def _mapping(node: nodes.Node) -> list[tuple[str, str]]:
    if not isinstance(node, nodes.BuiltIn) or node.this != "MAP":
        raise problem(f"{_MAPPING} is given as map_('from', 'to', ...), not {shown(node)}")
    texts = [_constant(each) for each in node.expressions]
    return list(zip(texts[::2], texts[1::2]))


def _constant(node: nodes.Node) -> str:
    if not isinstance(node, nodes.Constant) or not isinstance(node.value, str):
        raise problem(f"{shown(node)}: this must be a constant text")
    return node.value
