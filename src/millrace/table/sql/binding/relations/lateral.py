"""LATERAL: table functions, UNNEST and subqueries that read the columns to their left."""

from __future__ import annotations

from dataclasses import replace

from millrace.relational.nodes import Correlate, Field, Schema
from millrace.relational.rex import TRUE, Rex
from millrace.relational.rules.subqueries import join_lateral
from millrace.relational.types import ArrayType, DataType, IntType, MapType, MultisetType, RowType
from millrace.table.sql import nodes
from millrace.table.sql.binding.block import Block
from millrace.table.sql.binding.calls import call_arguments, cast_arguments
from millrace.table.sql.binding.dispatch import bind, bind_all, bind_condition, bind_rel
from millrace.table.sql.binding.problems import fail
from millrace.table.sql.binding.relations.from_clause import From, Source
from millrace.table.sql.binding.relations.read_files import FORMATS as YIELDING
from millrace.table.sql.binding.relations.table_functions import table_function_names
from millrace.table.sql.binding.resolver import TABLE
from millrace.table.sql.binding.scopes import Scope, beside, scope_of
from millrace.table.sql.text.errors import did_you_mean

_MODELS = ("ML_PREDICT", "ML_EVALUATE", "VECTOR_SEARCH")
"""table functions of Flink that ask a model or an index"""


def is_lateral(tree: nodes.Node, at: From) -> bool:
    """Whether an item of FROM may read what stands to its left."""
    if isinstance(tree, nodes.TableFunction):
        path = nodes.call_path(tree.this)
        if path[-1].upper() not in table_function_names():
            return True
        # Flink has no functions of these names, so its programs may have some of their own.
        return path[-1].upper() in YIELDING and at.environment.resolver.function(path) is not None
    return isinstance(tree, (nodes.Lateral, nodes.Unnest))


def bind_lateral(tree: nodes.Join, at: From) -> Source:
    """``left JOIN LATERAL ... ON ...`` and ``left CROSS JOIN UNNEST(...)``."""
    assert at.left is not None
    side = str(tree.side or "INNER").upper()
    if side not in ("INNER", "LEFT"):
        fail(tree, f"a {side} JOIN cannot have LATERAL or UNNEST on its right: only INNER, LEFT and CROSS can")
    right = tree.this
    if isinstance(right, nodes.Lateral):
        return _subquery(tree, right, side, at)
    block = at.block(at.left.scope, "a table function")
    if isinstance(right, nodes.Unnest):
        correlate = _unnest(right, block, at)
    else:
        assert isinstance(right, nodes.TableFunction)
        correlate = _table_function(right, block, at)
    correlate = replace(correlate, left=side == "LEFT")
    scope = beside(at.left.scope, _named(right, correlate.produced))
    return _with_condition(tree, correlate, scope, at)


def _with_condition(tree: nodes.Join, correlate: Correlate, scope: Scope, at: From) -> Source:
    on = tree.on
    condition: Rex = TRUE if on is None else bind_condition(on, at.block(scope, "ON"))
    if condition != TRUE:
        correlate = replace(correlate, condition=condition)
    return Source(correlate, scope.over(correlate.schema))


def _named(tree: nodes.Relation, produced: Schema) -> Scope:
    alias = tree.alias
    if alias is None:
        return scope_of(None, produced)
    names = [each.name for each in alias.columns or []]
    if names and len(names) != len(produced):
        fail(alias, f"{len(names)} names for {len(produced)} columns ({', '.join(each.name for each in produced)})")
    columns = tuple(replace(column, name=name) for column, name in zip(produced, names)) if names else produced
    return scope_of(alias.name, columns)


def _table_function(tree: nodes.TableFunction, block: Block, at: From) -> Correlate:
    assert at.left is not None
    path = nodes.call_path(tree.this)
    user = block.environment.resolver.function(path)
    if user is None:
        known = [*block.environment.resolver.function_names(), *table_function_names()]
        if path[-1].upper() in _MODELS:
            fail(tree, f"{path[-1].upper()} is not supported: call the model in a function made with udf() or udtf()")
        fail(tree, f"there is no table function {'.'.join(path)}{did_you_mean(path[-1], known)}")
    if user.kind != TABLE:
        fail(tree, f"{user.name} is no table function: it cannot stand in FROM")
    args = cast_arguments(tree, user, bind_all(call_arguments(tree.this), block))
    return Correlate(at.left.plan, "UDTF", tuple(args), user.columns, udf=user.wrapper)


def _unnest(tree: nodes.Unnest, block: Block, at: From) -> Correlate:
    assert at.left is not None
    collection = bind(tree.expressions[0], block)
    produced = _elements(tree, collection.type)
    if tree.offset:
        ordinality = Field("ORDINALITY", IntType(False))
        return Correlate(
            at.left.plan, "UNNEST", (collection,), (*produced, ordinality), options=(("ordinality", True),)
        )
    return Correlate(at.left.plan, "UNNEST", (collection,), produced)


def _elements(tree: nodes.Unnest, collection: DataType) -> Schema:
    """The columns that the elements become: fields of rows, keys and values of maps."""
    if isinstance(collection, MapType):
        return Field("KEY", collection.key_type), Field("VALUE", collection.value_type)
    if not isinstance(collection, (ArrayType, MultisetType)):
        fail(tree, f"UNNEST takes an ARRAY, a MAP or a MULTISET, and this is {collection}")
    element = collection.element_type
    if isinstance(element, RowType):
        types = [each.with_nullable(each.is_nullable or element.is_nullable) for each in element.field_types()]
        return tuple(Field(name, each) for name, each in zip(element.names, types))
    return (Field("EXPR$0", element),)


def _subquery(tree: nodes.Join, right: nodes.Lateral, side: str, at: From) -> Source:
    assert at.left is not None
    around = at.block(at.left.scope, "LATERAL")
    plan = bind_rel(right.this, at.environment, around)
    scope = beside(at.left.scope, _named(right, plan.schema))
    on = tree.on
    condition: Rex = TRUE if on is None else bind_condition(on, at.block(scope, "ON"))
    joined = join_lateral(at.left.plan, plan, side, condition)
    return Source(joined, scope.over(joined.schema))
