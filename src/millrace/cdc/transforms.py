"""``transform``: projections and filters, parsed once and bound to each schema of a table; with
``user-defined-function``: functions in Python, by their names in expressions.

A ``Layout`` is a sink table after the rules. Expressions can use columns, metadata of the row, and functions.
"""

from __future__ import annotations

import datetime as dt
import decimal
import importlib
import inspect
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NoReturn

from millrace.cdc.pipeline_file import Pipeline, Transform
from millrace.cdc.pipeline_file import UserFunction as DeclaredFunction
from millrace.cdc.table_selection import Selector, selector
from millrace.connectors.cdc.events import Column, CreateTableEvent, TableId, TableSchema
from millrace.relational import types as t
from millrace.relational.functions.registry import common_type, widest_first
from millrace.relational.rex import Field, Ref, Rex
from millrace.relational.types import DataType
from millrace.table.functions.function_classes import ScalarFunction
from millrace.table.functions.udf import UserDefinedScalarFunctionWrapper, udf
from millrace.table.sql import nodes
from millrace.table.sql.binding import SinkInfo, TableInfo, UserFunction
from millrace.table.sql.binding import UserFunction as Found
from millrace.table.sql.binding.calls import user_function
from millrace.table.sql.binding.scope import (
    Block,
    Environment,
    Intercept,
    Relation,
    Scope,
    bind,
    bind_condition,
    reported,
)
from millrace.table.sql.grammar.parser import parse_expression, parse_query, parse_type
from millrace.table.sql.text import SqlError
from millrace.util.exceptions import TableException
from millrace.util.names import did_you_mean

# Functions in Python

_TYPES: Mapping[str, DataType] = {
    "int": t.BigIntType(),
    "str": t.string(),
    "float": t.DoubleType(),
    "bool": t.BooleanType(),
    "bytes": t.VarBinaryType(t.MAX_LENGTH),
    "Decimal": t.DecimalType(38, 18),
    "date": t.DateType(),
    "datetime": t.TimestampType(6),
    "time": t.TimeType(3),
}
_NEEDS_TYPE = (
    "Millrace does not know what it returns: annotate it (-> int, str, float, bool, Decimal, bytes, date, datetime), "
    "give the class get_return_type(), or make it with millrace.table.udf.udf(result_type=...)"
)


def find_functions(declared: Iterable[DeclaredFunction]) -> dict[str, Found]:
    """The Python functions of a pipeline, by their lower-case names.

    :raises PipelineError: a function is missing, or the name is not a function's.
    """
    return {each.name.lower(): user_function(each.name, _wrapped(each)) for each in declared}


def _wrapped(declared: DeclaredFunction) -> UserDefinedScalarFunctionWrapper:
    found = _imported(declared)
    if isinstance(found, UserDefinedScalarFunctionWrapper):
        return found
    if inspect.isclass(found):
        found = _instance(declared, found)
    elif not callable(found):
        declared.block.fail(f"{declared.classpath} is no function and no class", "classpath")
    result = _declared_type(found) or _annotated(found)
    if result is None:
        declared.block.fail(f"function {declared.name} ({declared.classpath}): {_NEEDS_TYPE}", "classpath")
    wrapper: UserDefinedScalarFunctionWrapper = udf(found, result_type=result, name=declared.name)
    return wrapper


def _imported(declared: DeclaredFunction) -> Any:
    module, dot, name = declared.classpath.replace(":", ".").rpartition(".")
    if not dot:
        declared.block.fail(f"'classpath' is module.Name, not {declared.classpath}", "classpath")
    try:
        within = importlib.import_module(module)
    except ImportError as error:
        declared.block.fail(
            f"function {declared.name}: module {module} cannot be imported ({error}); it is looked for beside the "
            "pipeline's file and in --pyFiles",
            "classpath",
        )
    found = getattr(within, name, None)
    if found is None:
        declared.block.fail(f"module {module} has no {name}{did_you_mean(name, vars(within))}", "classpath")
    return found


def _instance(declared: DeclaredFunction, kind: type[Any]) -> Any:
    if not callable(getattr(kind, "eval", None)):
        declared.block.fail(f"{declared.classpath} has no method eval", "classpath")
    try:
        made = kind()
    except TypeError as error:
        declared.block.fail(f"{declared.classpath} cannot be made without arguments: {error}", "classpath")
    return made if isinstance(made, ScalarFunction) else _Adapted(made)


class _Adapted(ScalarFunction):
    """Adapts a plain class with ``eval``, and optionally ``open`` and ``close``."""

    def __init__(self, inner: Any) -> None:
        self.inner = inner

    def open(self, function_context: Any) -> None:
        opened = getattr(self.inner, "open", None)
        if opened is not None:
            opened(*[function_context][: len(inspect.signature(opened).parameters)])

    def close(self) -> None:
        closed = getattr(self.inner, "close", None)
        if closed is not None:
            closed()

    def eval(self, *args: Any) -> Any:
        return self.inner.eval(*args)


def _declared_type(found: Any) -> DataType | None:
    inner = getattr(found, "inner", found)
    for name in ("get_return_type", "getReturnType"):
        method = getattr(inner, name, None)
        if callable(method):
            kind = method()
            return parse_type(kind) if isinstance(kind, str) else kind
    return None


def _annotated(found: Any) -> DataType | None:
    """The SQL type of a function's annotated Python result type."""
    inner = getattr(found, "inner", found)
    method = inner if inspect.isfunction(inner) else getattr(inner, "eval", inner)
    hint = getattr(method, "__annotations__", {}).get("return")
    text = hint if isinstance(hint, str) else getattr(hint, "__name__", str(hint))
    plain: dict[Any, str] = {int: "int", str: "str", float: "float", bool: "bool", bytes: "bytes"}
    plain |= {decimal.Decimal: "Decimal", dt.date: "date", dt.datetime: "datetime", dt.time: "time"}
    name = plain.get(hint) if not isinstance(hint, str) else text
    if name is None:  # int | None, Optional[int]
        parts = [plain[each] for each in getattr(hint, "__args__", ()) if each in plain]
        name = parts[0] if len(parts) == 1 else None
    else:
        name = name.replace(" ", "").removesuffix("|None").rpartition(".")[2]
    return None if name is None else _TYPES.get(name)


# Projections and filters


@dataclass(frozen=True)
class Layout:
    """Columns of a sink table, with the partition keys and options that a transform sets."""

    schema: TableSchema
    partition_keys: tuple[str, ...] = ()
    options: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class CreateSinkTable(CreateTableEvent):
    """Creates a table of the sink, unless it exists."""

    partition_keys: tuple[str, ...] = ()
    options: Mapping[str, str] = field(default_factory=dict)


NAMESPACE, SCHEMA, TABLE = "__namespace_name__", "__schema_name__", "__table_name__"
EVENT_TYPE, COMMITTED = "__data_event_type__", "op_ts"
_TEXT = t.VarCharType(t.MAX_LENGTH, False)
METADATA = (
    *(Field(name, _TEXT) for name in (NAMESPACE, SCHEMA, TABLE, EVENT_TYPE)),
    Field(COMMITTED, t.BigIntType(False)),
)
"""metadata columns, which follow the table's own"""


@dataclass(frozen=True)
class PipelineSurroundings:
    """The binder's environment: it resolves names in the pipeline's expressions."""

    functions: Mapping[str, UserFunction] = field(default_factory=dict)
    zone: str = "UTC"

    streaming = True
    matches_as_standard = False

    def function(self, path: tuple[str, ...]) -> UserFunction | None:
        return self.functions.get(path[-1].lower()) if len(path) == 1 else None

    def function_names(self) -> Iterable[str]:
        return [each.name for each in self.functions.values()]

    def table(self, path: tuple[str, ...], options: Mapping[str, str]) -> TableInfo | None:
        return None

    def file(self, path: str, format: str | None) -> NoReturn:
        raise TableException("expressions of a pipeline read no files")

    def sink(self, path: tuple[str, ...], options: Mapping[str, str]) -> SinkInfo | None:
        return None

    def table_names(self) -> Iterable[str]:
        return ()


def block_of(table: TableId, schema: TableSchema, surroundings: PipelineSurroundings, place: str) -> Block:
    """The YAML block of a rule, for errors in its expressions."""
    columns = tuple(Field(column.name, column.type) for column in schema.columns)
    # A column of the table goes before metadata of its name.
    hidden = tuple(Field("" if each.name in schema.names else each.name, each.type) for each in METADATA)
    scope = Scope((Relation(table.table, columns), Relation(None, hidden, len(columns))))
    return Block(Environment(surroundings), scope, place=place)


_OTHER_NAMES = {"TIMESTAMP_DIFF": "TIMESTAMPDIFF", "TIMESTAMP_ADD": "TIMESTAMPADD"}
"""Flink CDC's function names -> SQL's names, which take the unit as a keyword"""


@dataclass(frozen=True)
class Rule:
    """A transform rule with parsed expressions."""

    tables: Selector
    written: Transform
    items: tuple[nodes.Node, ...] | None
    condition: nodes.Node | None

    @property
    def place(self) -> str:
        return self.written.source_table

    def bound(self, table: TableId, schema: TableSchema, surroundings: PipelineSurroundings) -> Bound:
        """The rule bound to a schema.

        :raises PipelineError: a column or function is missing.
        """
        block = block_of(table, schema, surroundings, "'projection'")
        outputs = self._outputs(block, schema)
        computed = {column.name: expression for column, expression in outputs if not isinstance(expression, Ref)}
        condition = None
        if self.condition is not None:
            within = replace(block.named("'filter'"), intercept=_names_of(computed, schema))
            condition = self._bound("filter", self.condition, within, condition=True)
        layout = self._layout(schema, [column for column, _ in outputs])
        return Bound(layout, tuple(expression for _, expression in outputs), condition, self.written.soft_delete)

    def _outputs(self, block: Block, schema: TableSchema) -> list[tuple[Column, Rex]]:
        plain: list[tuple[Column, Rex]] = [
            (column, Ref(column.type, place)) for place, column in enumerate(schema.columns)
        ]
        if self.items is None:
            return plain
        found: dict[str, tuple[Column, Rex]] = {}
        for item in self.items:
            if isinstance(item, nodes.Star):
                for column, ref in plain:
                    found.setdefault(column.name, (column, ref))
                continue
            name, tree = _named(item)
            if name is None:
                self.written.block.fail(
                    f"'projection': an expression needs a name: ... AS name (number {self.items.index(item) + 1})",
                    "projection",
                )
            expression = self._bound("projection", tree, block)
            same = expression.index if isinstance(expression, Ref) and expression.index < len(schema.columns) else None
            column = Column(name, expression.type)
            if same is not None:
                column = replace(schema.columns[same], name=name)
            found[name] = (column, expression)
        return list(found.values())

    def _bound(self, key: str, tree: nodes.Node, block: Block, condition: bool = False) -> Rex:
        try:
            with reported(tree):
                return bind_condition(tree, block) if condition else bind(tree, block)
        except SqlError as error:
            self.written.block.fail(f"'{key}' of {self.place}: {error}", key)

    def _layout(self, schema: TableSchema, columns: Sequence[Column]) -> Layout:
        written, names = self.written, [column.name for column in columns]
        keys = written.primary_keys or schema.primary_key
        for key, wanted in (("primary-keys", keys), ("partition-keys", written.partition_keys)):
            missing = [name for name in wanted if name not in names]
            if not missing:
                continue
            if key == "primary-keys" and not written.primary_keys:
                written.block.fail(
                    f"'projection' of {self.place} leaves out {missing[0]}, a column of the primary key: keep it, or "
                    "name another key under 'primary-keys'",
                    "projection",
                )
            written.block.fail(f"'{key}' of {self.place}: there is no column {missing[0]}"
                               f"{did_you_mean(missing[0], names)}", key)  # fmt: skip
        kept = tuple(
            replace(column, type=column.type.not_null()) if column.name in keys else column for column in columns
        )
        return Layout(
            TableSchema(kept, tuple(keys), schema.comment), written.partition_keys, dict(written.table_options)
        )


@dataclass(frozen=True)
class Bound:
    """A rule bound to one schema: its expressions refer to columns, and to metadata after these."""

    layout: Layout
    outputs: tuple[Rex, ...]
    condition: Rex | None
    soft_delete: bool

    @property
    def is_identity(self) -> bool:
        """Whether the rule leaves rows unchanged."""
        places = [each.index for each in self.outputs if isinstance(each, Ref)]
        return self.condition is None and not self.soft_delete and places == list(range(len(self.outputs)))


def rules_of(pipeline: Pipeline) -> tuple[Rule, ...]:
    """:raises PipelineError: a text cannot be read."""
    return tuple(_rule(each) for each in pipeline.transforms)


def _rule(written: Transform) -> Rule:
    items: tuple[nodes.Node, ...] | None = None
    condition = None
    key = "projection"
    try:
        if written.projection is not None:
            query = parse_query(f"SELECT {written.projection}")
            if not isinstance(query, nodes.Select) or query.from_ is not None or query.where is not None:
                written.block.fail("'projection' is a list of expressions, as behind SELECT", key)
            items = tuple(_in_words_of_sql(each) for each in query.expressions)
        key = "filter"
        if written.filter is not None:
            condition = _in_words_of_sql(parse_expression(written.filter))
    except SqlError as error:
        written.block.fail(f"'{key}' of {written.source_table}: {error}", key)
    return Rule(selector(written.source_table, written.block), written, items, condition)


def _named(item: nodes.Node) -> tuple[str | None, nodes.Node]:
    if isinstance(item, nodes.Alias):
        return item.alias.name, item.this
    return (item.name, item) if isinstance(item, nodes.Column) else (None, item)


def _names_of(computed: dict[str, Rex], schema: TableSchema) -> Intercept:
    """The computed columns by name: a filter may use their names, unless the table has a column of that name."""

    def intercept(tree: nodes.Node) -> Rex | None:
        if isinstance(tree, nodes.Column) and len(nodes.column_parts(tree)) == 1 and tree.name not in schema.names:
            return computed.get(tree.name)
        return None

    return intercept


def _in_words_of_sql(tree: nodes.Node) -> nodes.Node:
    """Replace Flink CDC's function names by those of SQL."""

    def change(part: nodes.Node) -> nodes.Node | None:
        if not isinstance(part, nodes.Call) or part.name.upper() not in _OTHER_NAMES or not part.expressions:
            return None
        unit, *rest = part.expressions
        if not isinstance(unit, nodes.Column):
            return None
        word = nodes.Var(unit.name.upper(), position=unit.position)
        others = tuple(_in_words_of_sql(each) for each in rest)
        return replace(part, this=_OTHER_NAMES[part.name.upper()], expressions=(word, *others))

    return tree.rewritten(change)


@dataclass(frozen=True)
class Applied:
    """The rules for one table, bound to its schema. Without rules rows pass unchanged."""

    layout: Layout
    rules: tuple[Bound, ...]


def applied(rules: Sequence[Rule], table: TableId, schema: TableSchema, around: PipelineSurroundings) -> Applied:
    """Bind the rules for a table to its schema.

    :raises PipelineError: names or types are wrong, or two rules make different tables.
    """
    mine = [rule for rule in rules if rule.tables.match(table) is not None]
    bound = [rule.bound(table, schema, around) for rule in mine]
    if not bound:
        return Applied(Layout(schema), ())
    if len(bound) == 1 and bound[0].is_identity:
        return Applied(bound[0].layout, ())
    layout = bound[0].layout
    for rule, other in zip(mine[1:], bound[1:]):
        layout = _one(rule, layout, other.layout)
    return Applied(layout, tuple(bound))


def _one(rule: Rule, first: Layout, other: Layout) -> Layout:
    a, b = first.schema, other.schema
    if a.names != b.names or a.primary_key != b.primary_key:
        rule.written.block.fail(
            f"the rules for {rule.written.source_table} make different tables: ({', '.join(a.names)}) with the key "
            f"({', '.join(a.primary_key)}), and ({', '.join(b.names)}) with ({', '.join(b.primary_key)})"
        )
    columns = []
    for one, two in zip(a.columns, b.columns):
        both = common_type(widest_first([one.type, two.type]))
        if both is None:
            rule.written.block.fail(f"the rules make column {one.name} {one.type} and {two.type}")
        columns.append(replace(one, type=both))
    return Layout(
        replace(a, columns=tuple(columns)),
        first.partition_keys or other.partition_keys,
        {**other.options, **first.options},
    )
