"""Binds joins of two inputs: by condition, USING, NATURAL and commas; LATERAL; and FOR SYSTEM_TIME AS OF, with the
version of a table at a time, or with the rows that an external table then has for a key (lookup joins)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import reduce

from millrace.relational.functions.registry import call, cast_to, common_type
from millrace.relational.nodes import (
    PROCTIME,
    ROWTIME,
    Correlate,
    Field,
    Filter,
    Hinted,
    Join,
    LookupJoin,
    Project,
    Rel,
    Scan,
    Schema,
    TemporalJoin,
    Watermark,
)
from millrace.relational.rex import (
    TRUE,
    Call,
    Literal,
    Ref,
    Rex,
    Subquery,
    conjunction,
    conjuncts,
    refs,
    rewrite,
    shift,
    substitute,
    walk,
)
from millrace.relational.rules.join_rules import interval_join
from millrace.relational.rules.subqueries import join_lateral, unnest
from millrace.relational.rules.window_rules import row_key, window_join
from millrace.relational.types import ArrayType, DataType, IntType, MapType, MultisetType, RowType
from millrace.table.sql import nodes
from millrace.table.sql.binding.calls import built_in, call_arguments, cast_arguments
from millrace.table.sql.binding.from_clause import (
    NOTHING,
    From,
    QueryHints,
    Source,
    aliased,
    bind_relation,
    binds_relation,
    find_table,
    input_hinted,
    is_lateral,
    lookup_options,
    table_function_names,
    table_options,
    table_plan,
)
from millrace.table.sql.binding.scope import (
    TABLE,
    Block,
    Scope,
    TableInfo,
    beside,
    bind,
    bind_all,
    bind_condition,
    bind_rel,
    fail,
    field_of,
    scope_of,
)
from millrace.util.names import did_you_mean

# Lookup joins


def lookup_join(
    tree: nodes.Join, hints: QueryHints, left: Rel, info: TableInfo, right: Rel, kind: str, condition: Rex
) -> Rel:
    """Each row of ``left`` with the rows of the table that have its key.

    :param right: the table with all its columns; those that are computed are computed after the lookup.
    :param condition: over both; its equalities with columns of the table are the key.
    """
    name, table = info.path[-1], tree.this
    assert isinstance(table, nodes.Table)
    found = _computed(right)
    if found is None:
        fail(tree.this, f"'{name}' is no plain table: it cannot be looked up")
    scan, columns = found
    width = len(left.schema)
    lookup: dict[int, Rex] = {}
    rest: list[Rex] = []
    for part in conjuncts(_over_scan(condition, columns, width)):
        key = _key_of(part, width)
        if key is None or key[0] in lookup:
            rest.append(part)
        else:
            lookup[key[0]] = key[1]
    if not lookup:
        fail(tree, f"a lookup of '{name}' needs a condition column = value on one of its columns")
    keys = tuple(sorted(lookup))
    assert info.lookup is not None
    joined = LookupJoin(
        left,
        info.lookup(keys),
        info.path,
        scan.columns,
        kind,
        tuple((each, lookup[each]) for each in keys),
        conjunction(rest) if rest else None,
        lookup_options(hints, table.alias.name if table.alias else name),
    )
    return joined if right is scan else _with_columns(joined, right, columns, width)


def _computed(plan: Rel) -> tuple[Scan, tuple[Rex, ...]] | None:
    """The scan below a table's plan, and the table's columns as expressions over the columns that the connector
    reads; None if the plan is not just a scan with computed columns and a watermark."""
    if isinstance(plan, Scan):
        return plan, tuple(Ref(column.type, at) for at, column in enumerate(plan.columns))
    if isinstance(plan, (Watermark, Hinted)):
        return _computed(plan.input)
    below = _computed(plan.input) if isinstance(plan, Project) else None
    if below is None or not isinstance(plan, Project):
        return None
    return below[0], tuple(substitute(each, below[1]) for each in plan.expressions)


def _over_scan(condition: Rex, columns: tuple[Rex, ...], width: int) -> Rex:
    def part(each: Rex) -> Rex | None:
        return shift(columns[each.index - width], width) if isinstance(each, Ref) and each.index >= width else None

    return rewrite(condition, part)


def _key_of(part: Rex, width: int) -> tuple[int, Rex] | None:
    """column of the table = value of the left input."""
    if not isinstance(part, Call) or part.function != "=":
        return None
    for here, there in (part.args, part.args[::-1]):
        if isinstance(here, Ref) and here.index >= width and all(index < width for index in refs(there)):
            return here.index - width, there
    return None


def _if_there(computed: Rex, joined: LookupJoin, width: int) -> Rex:
    """What a column is computed to, NULL where no row was found: then its key is NULL, which no row has that is."""
    if isinstance(computed, Ref):
        return computed
    key = joined.lookup[0][0] + width
    there = call("IS NOT NULL", [Ref(joined.schema[key].type, key)])
    return call("CASE", [there, computed, Literal(computed.type.nullable(), None)])


def _with_columns(joined: LookupJoin, right: Rel, columns: tuple[Rex, ...], width: int) -> Rel:
    schema = joined.schema
    kept = [Ref(column.type, at) for at, column in enumerate(schema[:width])]
    found = tuple(shift(each, width) for each in columns)
    if joined.kind == "LEFT":
        found = tuple(_if_there(each, joined, width) for each in found)
    expressions = (*kept, *found)
    names = [column.name for column in (*schema[:width], *right.schema)]
    return Project(joined, expressions, tuple(field_of(name, each, schema) for name, each in zip(names, expressions)))


# FOR SYSTEM_TIME AS OF


def is_temporal(tree: nodes.Node) -> bool:
    return isinstance(tree, nodes.Table) and tree.version is not None


def bind_temporal(tree: nodes.Join, at: From) -> Source:
    """``left JOIN t FOR SYSTEM_TIME AS OF left.time ON ...``."""
    assert at.left is not None
    kind = str(tree.side or "INNER").upper()
    if kind not in ("INNER", "LEFT"):
        fail(tree, f"FOR SYSTEM_TIME AS OF can be in an INNER or LEFT JOIN, not in a {kind} JOIN")
    table = tree.this
    assert isinstance(table, nodes.Table)
    time = _left_time(table, at)
    if len(nodes.table_path(table)) == 1 and table.name in at.environment.ctes:
        plan: Rel = at.environment.ctes[table.name]
        info = TableInfo(("", "", table.name), plan)
    else:
        info = find_table(table, at.environment, table_options(table))
        plan = table_plan(info, at.environment)
    right = aliased(table, Source(plan, scope_of(info.path[-1], plan.schema, info.path)))
    scope = beside(at.left.scope, right.scope)
    on = tree.on
    condition = TRUE if on is None else bind_condition(on, at.block(scope, "ON"))
    joined: Rel
    if time.time == PROCTIME and info.lookup is not None:
        joined = lookup_join(tree, at.hints, at.left.plan, info, plan, kind, condition)
    else:
        _refuse_hint(tree, at, info, plan, time)
        joined = _version(tree, at.left.plan, info, plan, kind, condition, time)
    return Source(joined, scope.over(joined.schema))


def _refuse_hint(tree: nodes.Join, at: From, info: TableInfo, plan: Rel, time: Field) -> None:
    """A LOOKUP hint about a table whose rows are not looked up would have no effect."""
    table = tree.this
    assert isinstance(table, nodes.Table)
    name = info.path[-1]
    if not lookup_options(at.hints, table.alias.name if table.alias else name):
        return
    if time.time != PROCTIME:
        fail(table, f"hint LOOKUP: '{name}' is joined by event time, so its versions are kept and none is looked up")
    connector = connector_of(plan)
    how = "it is no table of a connector" if connector is None else f"connector '{connector}' finds no rows by key"
    fail(table, f"hint LOOKUP: '{name}' cannot be looked up: {how}. Without the hint it is joined by its newest rows")


def connector_of(plan: Rel) -> str | None:
    """The connector of the table that a plan reads, None if it is another one."""
    while len(plan.inputs) == 1:
        plan = plan.inputs[0]
    table = getattr(getattr(plan, "source", None), "table", None)
    return None if table is None else table.options.get("connector")


def _left_time(table: nodes.Table, at: From) -> Field:
    assert at.left is not None
    assert table.version is not None
    moment = table.version.expression
    found = bind(moment, at.block(at.left.scope, "FOR SYSTEM_TIME AS OF"))
    if isinstance(found, Call) and found.function == "PROCTIME":
        fail(moment, "FOR SYSTEM_TIME AS OF needs a column: add PROCTIME() AS a column to the left table and name that")
    column = at.left.plan.schema[found.index] if isinstance(found, Ref) else None
    if column is None or column.time is None:
        fail(
            moment,
            "FOR SYSTEM_TIME AS OF needs a time attribute of the left table: a column with a WATERMARK, or one "
            "that is PROCTIME()",
        )
    return column


def _version(
    tree: nodes.Join, left: Rel, info: TableInfo, right: Rel, kind: str, condition: Rex, time: Field
) -> TemporalJoin:
    left_time = left.schema.index(time)
    names = right.names
    key = tuple(names.index(each) for each in info.primary_key) if info.primary_key else row_key(right)
    if not key:
        fail(
            tree.this,
            f"'{info.path[-1]}' has no versions: it needs a PRIMARY KEY (NOT ENFORCED), or to be a view that "
            f"keeps the last row of each key{_no_lookup(right, time)}",
        )
    right_time = next((at for at, column in enumerate(right.schema) if column.time == ROWTIME), None)
    if time.time == ROWTIME and right_time is None:
        fail(tree.this, f"'{info.path[-1]}' has no versions in event time: it needs a WATERMARK")
    width = len(left.schema)
    compared = {index for part in conjuncts(condition) for index in _equated(part, width)}
    missing = [names[each] for each in key if each not in compared]
    if missing:
        fail(
            tree,
            f"the condition must compare the whole key of '{info.path[-1]}' with =; {', '.join(missing)} is missing",
        )
    return TemporalJoin(left, right, kind, condition, left_time, right_time if time.time == ROWTIME else None, key)


def _no_lookup(right: Rel, time: Field) -> str:
    connector = connector_of(right)
    if time.time != PROCTIME or connector is None:
        return ""
    return f"; and rows of connector '{connector}' are not found by key, so it cannot be looked up either"


def _equated(part: Rex, width: int) -> set[int]:
    """The columns of the right input that a condition sets equal to something of the left one."""
    if not isinstance(part, Call) or part.function != "=":
        return set()
    for here, there in (part.args, part.args[::-1]):
        right = here.args[0] if isinstance(here, Call) and here.function == "CAST" else here
        if isinstance(right, Ref) and right.index >= width and all(index < width for index in refs(there)):
            return {right.index - width}
    return set()


# Temporal table functions


def key_of_versions(tree: nodes.Node, at: From) -> Sequence[str]:
    """The key of the view that a call in FROM names; nothing, if it calls a function or names no view of versions."""
    if not isinstance(tree, nodes.TableFunction):
        return ()
    path, resolver = nodes.call_path(tree.this), at.environment.resolver
    found = None if resolver.function(path) is not None else resolver.table(path, {})
    return () if found is None else [found.plan.names[place] for place in row_key(found.plan)]


def bind_versions(tree: nodes.Join, key: Sequence[str], at: From) -> Source:
    """``left, LATERAL TABLE(versions(left.time))``, the versions having this key."""
    call = tree.this
    assert isinstance(call, nodes.TableFunction)
    path, args = nodes.call_path(call.this), call_arguments(call.this)
    if len(args) != 1:
        fail(call, f"{'.'.join(path)} gives versions of rows: it takes one time of the table to its left")
    name, *above = (nodes.Identifier(part) for part in reversed(path))
    database, catalog = (*above, None, None)[:2]
    alias = call.alias or nodes.TableAlias(name)
    version = nodes.Version(args[0], position=call.position)
    table = nodes.Table(name, database, catalog, version=version, alias=alias, position=call.position)
    conditions = [] if tree.on is None or _is_true(tree.on) else [tree.on]
    if tree.side is None and at.where is not None:
        conditions += [each for each in _conjuncts(at.where) if _compares(each, alias.name, key)]
    on = reduce(lambda one, other: nodes.BuiltIn("AND", (one, other)), conditions) if conditions else None
    return bind_temporal(replace(tree, this=table, on=on), at)


def _is_true(condition: nodes.Node) -> bool:
    return isinstance(condition, nodes.Boolean) and condition.this


def _conjuncts(condition: nodes.Node) -> Iterator[nodes.Node]:
    if isinstance(condition, nodes.Paren):
        yield from _conjuncts(condition.this)
    elif isinstance(condition, nodes.BuiltIn) and condition.this == "AND":
        for part in condition.expressions:
            yield from _conjuncts(part)
    else:
        yield condition


def _compares(condition: nodes.Node, alias: str, key: Sequence[str]) -> bool:
    """Whether it sets a column of the key equal to something."""
    if not isinstance(condition, nodes.BuiltIn) or condition.this != "=":
        return False
    return any(
        isinstance(each, nodes.Column)
        and each.name in key
        and (each.table is None or (each.table.name == alias and each.db is None))
        for each in condition.expressions
    )


# LATERAL

_MODELS = ("ML_PREDICT", "ML_EVALUATE", "VECTOR_SEARCH")
"""table functions of Flink that ask a model or an index"""


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


# Joins


def bind_from(first: nodes.Node, joins: Sequence[nodes.Join], at: From) -> Source:
    """An item of FROM and all that is joined to it."""
    if is_lateral(first, at):
        source = bind_lateral(nodes.Join(this=first, kind="CROSS"), replace(at, left=NOTHING))
    else:
        source = bind_relation(first, at)
    for join in joins:
        source = _join(join, source, at)
    return source


@binds_relation(nodes.Joined)
def _joined(tree: nodes.Joined, at: From) -> Source:
    return bind_from(tree.this, tree.joins, at)


def join_kind(tree: nodes.Join) -> str:
    """INNER, LEFT, RIGHT or FULL."""
    return str(tree.side or "INNER").upper()


def _join(tree: nodes.Join, left: Source, at: From) -> Source:
    at = replace(at, left=left)
    if is_lateral(tree.this, at):
        key = key_of_versions(tree.this, at)
        return bind_versions(tree, key, at) if key else bind_lateral(tree, at)
    if is_temporal(tree.this):
        return bind_temporal(tree, at)
    right = bind_relation(tree.this, at)
    _check_names(tree, left.scope, right.scope)
    kind = join_kind(tree)
    names = _common_names(tree, left.scope, right.scope)
    scope = beside(left.scope, right.scope)
    left, right = _hinted(left, at), _hinted(right, at)
    if names is None:
        on = tree.on
        condition = TRUE if on is None else bind_condition(on, at.block(scope, "ON"))
        if on is None and kind != "INNER":
            fail(tree, f"a {kind} JOIN needs ON or USING")
        return _joined_source(tree, left.plan, right.plan, kind, condition, scope)
    condition, merged = _merge(tree, names, left, right, kind)
    rest = tuple(each for each in left.scope.merged if each[0] not in names)
    return _joined_source(tree, left.plan, right.plan, kind, condition, replace(scope, merged=(*merged, *rest)))


def _hinted(source: Source, at: From) -> Source:
    """An input that is one table, with the hints that name it."""
    relations = source.scope.relations
    if len(relations) != 1:
        return source
    return Source(input_hinted(source.plan, at.hints, relations[0].name), source.scope)


def _joined_source(tree: nodes.Join, left: Rel, right: Rel, kind: str, condition: Rex, scope: Scope) -> Source:
    plan = make_join(tree, left, right, kind, condition)
    return Source(plan, scope.over(plan.schema))


def make_join(tree: nodes.Node, left: Rel, right: Rel, kind: str, condition: Rex) -> Rel:
    """A join of the kind that its condition makes it: of windows, of intervals of time, or a regular one."""
    if any(isinstance(part, Subquery) for part in walk(condition)):
        if kind != "INNER":
            fail(tree, f"a subquery cannot stand in the condition of a {kind} JOIN: join with the subquery first")
        return unnest(Filter(Join(left, right, kind, TRUE), condition))
    return interval_join(window_join(Join(left, right, kind, condition)))


def _check_names(tree: nodes.Join, left: Scope, right: Scope) -> None:
    taken = {each.name for each in left.relations if each.name}
    for each in right.relations:
        if each.name in taken:
            fail(tree.this, f"two items of FROM are called '{each.name}': give one an alias with AS")


def _common_names(tree: nodes.Join, left: Scope, right: Scope) -> list[str] | None:
    """The columns of USING or NATURAL; None without these."""
    if tree.using:
        return [each.name for each in tree.using]
    if tree.method != "NATURAL":
        return None
    there = {column.name for column in right.fields}
    return [name for name in dict.fromkeys(name for name, _ in left.star()) if name in there]


def _merge(
    tree: nodes.Join, names: Sequence[str], left: Source, right: Source, kind: str
) -> tuple[Rex, tuple[tuple[str, Rex], ...]]:
    width = len(left.plan.schema)
    parts: list[Rex] = []
    merged: list[tuple[str, Rex]] = []
    for name in names:
        mine = _side(tree, left.scope, name, "left")
        theirs = shift(_side(tree, right.scope, name, "right"), width)
        parts.append(built_in(tree, "=", [mine, theirs]))
        merged.append((name, _merged(tree, name, mine, theirs, kind)))
    return conjunction(parts), tuple(merged)


def _side(tree: nodes.Join, scope: Scope, name: str, side: str) -> Rex:
    found = scope.find(name)
    if len(found) != 1:
        what = "no column" if not found else f"{len(found)} columns"
        fail(tree, f"USING ({name}): the {side} input has {what} with this name")
    return found[0]


def _merged(tree: nodes.Join, name: str, left: Rex, right: Rex, kind: str) -> Rex:
    if kind == "RIGHT":
        return right
    if kind != "FULL":
        return left
    common = common_type([left.type, right.type])
    if common is None:
        fail(tree, f"USING ({name}): {left.type} and {right.type} have no common type")
    sides = [_nullable(each) for each in (left, right)]
    return built_in(tree, "COALESCE", [cast_to(each, common) for each in sides])


def _nullable(expression: Rex) -> Rex:
    return replace(expression, type=expression.type.nullable()) if isinstance(expression, Ref) else expression
