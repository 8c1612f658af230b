"""``Rel``: what every node of a plan has (inputs, columns, expressions, a line in EXPLAIN), and ways through plans and
the expressions of their nodes. And the nodes that need no key: sources and sinks, steps from one row to the next,
set operations, sorting, and conversions between tables and changelogs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import field, fields, replace
from functools import cache
from typing import Any

from millrace.common.types import RowKind
from millrace.relational.rex import (
    ROWTIME,
    AggCall,
    Field,
    Literal,
    OuterRef,
    Ref,
    Rex,
    Schema,
    SortKey,
    Subquery,
    keys_text,
    literal_text,
    rex_text,
)
from millrace.relational.rex import walk as parts_of
from millrace.relational.types import CharType, VarCharType, string
from millrace.util.record import Record

# All nodes

EXPRESSIONS = {"expressions": True}
"""metadata of a field that holds expressions (Rex, AggCall, SortKey, in tuples of any depth): rules read and replace
them. Each field of a node that may hold one has this or ``OVER_OTHER_COLUMNS``, as a test checks."""
OVER_OTHER_COLUMNS = {"expressions": False}
"""metadata of a field whose expressions are not over the columns of the node's inputs: rules leave them alone"""


class Rel(Record):
    """Base of all nodes."""

    @property
    def inputs(self) -> tuple[Rel, ...]:
        return ()

    @property
    def schema(self) -> Schema:
        """The columns of the result: the field ``columns``, unless they follow from the inputs."""
        found: Schema = getattr(self, "columns")  # noqa: B009  fields of subclasses
        return found

    def with_inputs(self, inputs: tuple[Rel, ...]) -> Rel:
        """This node over other inputs, as many as it has."""
        return self

    def map_expressions(self, change: Callable[[Rex], Rex]) -> Rel:
        """This node with each of its expressions (whole ones, not their parts) replaced: those in its fields."""
        kind: Any = type(self)
        changed = {name: _mapped(getattr(self, name), change) for name in _fields_with_expressions(kind)}
        return replace(self, **changed) if changed else self

    def details(self) -> list[str]:
        """What stands in parentheses behind the name of the node, in EXPLAIN."""
        return []

    @property
    def names(self) -> list[str]:
        return [column.name for column in self.schema]


@cache
def _fields_with_expressions(kind: type[Rel]) -> tuple[str, ...]:
    return tuple(each.name for each in fields(kind) if each.metadata.get("expressions"))


def _mapped(value: Any, change: Callable[[Rex], Rex]) -> Any:
    if isinstance(value, tuple):
        return tuple(_mapped(each, change) for each in value)
    if isinstance(value, Rex):
        return change(value)
    if isinstance(value, AggCall):
        return value.map(change)
    if isinstance(value, SortKey):
        return replace(value, expression=change(value.expression))
    return value


class Single(Rel):
    """A node with one input."""

    input: Rel

    @property
    def inputs(self) -> tuple[Rel, ...]:
        return (self.input,)

    def with_inputs(self, inputs: tuple[Rel, ...]) -> Rel:
        return replace(self, input=inputs[0])


class SameSchema(Single):
    """A node whose columns are those of its input."""

    @property
    def schema(self) -> Schema:
        return self.input.schema


def nullable(schema: Schema, optional: bool) -> Schema:
    """The columns, each of which may be NULL if they are optional."""
    return tuple(replace(each, type=each.type.nullable()) for each in schema) if optional else schema


def walk(plan: Rel) -> Iterable[Rel]:
    """The node and everything below it, inputs first."""
    for each in plan.inputs:
        yield from walk(each)
    yield plan


def find(plan: Rel, kind: type[Rel]) -> list[Any]:
    """The nodes of a kind."""
    return [node for node in walk(plan) if isinstance(node, kind)]


# Ways through plans


def transform(plan: Rel, change: Callable[[Rel], Rel]) -> Rel:
    """Every node replaced by what ``change`` makes of it, inputs first. Plans of subqueries are not entered."""
    inputs = plan.inputs
    if inputs:
        new = tuple(transform(each, change) for each in inputs)
        if any(a is not b for a, b in zip(new, inputs)):
            plan = plan.with_inputs(new)
    return change(plan)


def expressions_of(node: Rel) -> Iterator[Rex]:
    """The expressions of one node, without those of its inputs."""
    found: list[Rex] = []

    def note(expression: Rex) -> Rex:
        found.append(expression)
        return expression

    node.map_expressions(note)
    yield from found


def subqueries_of(node: Rel) -> list[Subquery]:
    """The subqueries in the expressions of one node, outermost ones only in the sense of plans."""
    return [part for expression in expressions_of(node) for part in parts_of(expression) if isinstance(part, Subquery)]


def has_subquery(node: Rel) -> bool:
    """Whether a subquery is in the expressions of one node."""
    return any(isinstance(part, Subquery) for expression in expressions_of(node) for part in parts_of(expression))


def outer_refs(plan: Rel, depth: int = 1) -> set[int]:
    """The columns of the query ``depth`` levels around that a plan reads, also in subqueries inside of it."""
    found: set[int] = set()
    for node in walk(plan):
        for expression in expressions_of(node):
            for part in parts_of(expression):
                if isinstance(part, OuterRef) and part.depth == depth:
                    found.add(part.index)
                elif isinstance(part, Subquery):
                    found |= outer_refs(part.plan, depth + 1)
    return found


def is_correlated(plan: Rel) -> bool:
    """Whether a plan reads columns of any query around it."""
    return _reach(plan) > 0


def _reach(plan: Rel) -> int:
    reach = 0
    for node in walk(plan):
        for expression in expressions_of(node):
            for part in parts_of(expression):
                if isinstance(part, OuterRef):
                    reach = max(reach, part.depth)
                elif isinstance(part, Subquery):
                    reach = max(reach, _reach(part.plan) - 1)
    return reach


# Nodes without a key: where rows come from


class Scan(Rel):
    """Read a table of a catalog, its physical and metadata columns; computed columns and the watermark are nodes above
    it. ``source`` is what the connector made of the table's options."""

    path: tuple[str, str, str]
    """catalog, database, table"""
    columns: Schema
    source: Any = field(compare=False, default=None)
    """a ``TableSource`` (``relational.sources``)"""
    projected: tuple[int, ...] | None = None
    """the columns of the source that are read, None for all; ``columns`` has only these"""
    filters: tuple[Rex, ...] = field(default=(), metadata=OVER_OTHER_COLUMNS)
    """conditions that the source may use to read less, over all columns of the source; they are checked again above"""
    versions: bool = False
    """whether all versions of a row count, not only the one at the end of a batch"""
    rows: int | None = field(default=None, compare=False)
    """estimated number of rows, by the statistics of the catalog; None: there are no statistics"""
    key: tuple[str, ...] = field(default=(), compare=False)
    """the columns of its PRIMARY KEY"""

    def details(self) -> list[str]:
        parts = [".".join(self.path), "[" + ", ".join(column.name for column in self.columns) + "]"]
        parts += [rex_text(condition, self._all_columns()) for condition in self.filters]
        parts += getattr(self.source, "pushed", ())
        return parts if self.rows is None else [*parts, f"rows={self.rows}"]

    def _all_columns(self) -> Schema:
        """All columns of the source, including those that are not read; ``filters`` may refer to any of them."""
        if self.projected is None:
            return self.columns
        table = getattr(self.source, "table", None)
        known = [] if table is None else [*table.columns, *(Field(name, type_) for name, _, type_ in table.metadata)]
        read = dict(zip(self.projected, self.columns, strict=True))
        return tuple(read.get(place, column) for place, column in enumerate(known)) or self.columns


class Values(Rel):
    """Rows written in the query: literals in their Python form."""

    columns: Schema
    rows: tuple[tuple[Any, ...], ...]

    def details(self) -> list[str]:
        return [
            "(" + ", ".join(literal_text(Literal(c.type, value)) for value, c in zip(row, self.columns)) + ")"
            for row in self.rows
        ]


class StreamScan(Rel):
    """A DataStream as a table."""

    columns: Schema
    stream: Any = field(compare=False)
    changelog: Any = field(default=None, compare=False)
    """a ``ChangelogMode``, None for insertions only"""
    key: tuple[int, ...] = ()
    """the columns that rows are known by, if changes come without the former content of rows"""

    def details(self) -> list[str]:
        return ["[" + ", ".join(column.name for column in self.columns) + "]"]


# One row after the other


class Project(Single):
    """Compute columns. ``times`` says which of them are time attributes (None: as the references say)."""

    expressions: tuple[Rex, ...] = field(metadata=EXPRESSIONS)
    columns: Schema

    def details(self) -> list[str]:
        source = self.input.schema
        parts = []
        for expression, column in zip(self.expressions, self.columns):
            text = rex_text(expression, source)
            parts.append(text if text == column.name else f"{text} AS {column.name}")
        return parts


class Filter(SameSchema):
    """Rows for which the condition is TRUE."""

    condition: Rex = field(metadata=EXPRESSIONS)

    def details(self) -> list[str]:
        return [rex_text(self.condition, self.schema)]


class Watermark(Single):
    """WATERMARK FOR column AS expression: the column becomes the event time attribute."""

    column: int
    expression: Rex = field(metadata=EXPRESSIONS)
    leaves_out: bool = False
    """whether rows without a time are left out; else they are an error in streaming mode"""
    max_jump: int | None = None
    """ms that event time may jump ahead; None: as far as a row says"""

    @property
    def schema(self) -> Schema:
        columns = self.input.schema
        return tuple(
            replace(each, time=ROWTIME) if index == self.column else each for index, each in enumerate(columns)
        )

    def details(self) -> list[str]:
        return [f"{self.input.schema[self.column].name} AS {rex_text(self.expression, self.input.schema)}"]


class Correlate(Single):
    """LATERAL TABLE(f(...)) and CROSS JOIN UNNEST(...): each row with the rows that a table function makes of it.

    ``function`` is UNNEST (WITH ORDINALITY: option), another built-in name, or UDTF with ``udf``. The result has the
    columns of the input and then those of the function.
    """

    function: str
    args: tuple[Rex, ...] = field(metadata=EXPRESSIONS)
    produced: Schema
    left: bool = False
    """LEFT JOIN ... ON TRUE: a row without any result stays, with NULLs"""
    condition: Rex | None = field(default=None, metadata=EXPRESSIONS)
    """over input and produced columns"""
    udf: Any = None
    options: tuple[tuple[str, Any], ...] = ()

    @property
    def schema(self) -> Schema:
        return self.input.schema + nullable(self.produced, self.left)

    def details(self) -> list[str]:
        args = ", ".join(rex_text(arg, self.input.schema) for arg in self.args)
        parts = ["LEFT" if self.left else "INNER", f"{self.function}({args})"]
        parts.append("produces=[" + ", ".join(column.name for column in self.produced) + "]")
        parts += [f"{name}={value}" for name, value in self.options]
        if self.condition is not None:
            parts.append(rex_text(self.condition, self.input.schema + self.produced))
        return parts


class Expand(Single):
    """Makes one row for each projection out of each input row: how streaming plans compute GROUPING SETS."""

    projections: tuple[tuple[Rex, ...], ...] = field(metadata=EXPRESSIONS)
    columns: Schema

    def details(self) -> list[str]:
        source = self.input.schema
        return ["(" + ", ".join(rex_text(part, source) for part in each) + ")" for each in self.projections]


class Hinted(SameSchema):
    """A query hint on a query block: (name, arguments), e.g. STATE_TTL or a join hint."""

    hints: tuple[tuple[str, tuple[Any, ...]], ...]

    def details(self) -> list[str]:
        return [f"{name}({', '.join(map(str, args))})" for name, args in self.hints]


# Set operations, ORDER BY, LIMIT


class SetOp(Rel):
    """UNION, INTERSECT, EXCEPT; ``all`` keeps duplicates. The branches have the types of ``columns``."""

    kind: str
    all: bool
    branches: tuple[Rel, ...]
    columns: Schema

    @property
    def inputs(self) -> tuple[Rel, ...]:
        return self.branches

    def with_inputs(self, inputs: tuple[Rel, ...]) -> Rel:
        return replace(self, branches=inputs)

    def details(self) -> list[str]:
        return [f"{self.kind}{' ALL' if self.all else ''}"]


class Sort(SameSchema):
    """ORDER BY with OFFSET and FETCH; without keys it is LIMIT alone."""

    keys: tuple[SortKey, ...] = field(metadata=EXPRESSIONS)
    offset: int = 0
    fetch: int | None = None

    def details(self) -> list[str]:
        parts = [keys_text(self.keys, self.input.schema)] if self.keys else []
        parts += [f"offset={self.offset}"] if self.offset else []
        return parts + ([f"fetch={self.fetch}"] if self.fetch is not None else [])


# Where rows go


class Sink(Single):
    """INSERT INTO a table. Its input has the columns of the table in order."""

    path: tuple[str, str, str]
    sink: Any = field(compare=False)
    """a ``TableSink`` (``relational.sources``)"""
    overwrite: bool = False
    partition: tuple[tuple[str, Any], ...] = ()
    """static PARTITION (name = value, ...)"""
    columns: Schema = ()
    """columns with the constraints that the table declares; empty: the table has none, or they are not enforced"""

    on_conflict: str = ""
    """ON CONFLICT DO: ERROR, NOTHING or DEDUPLICATE, where several rows have one primary key; empty: not given"""

    @property
    def wants_one_row(self) -> bool:
        """Whether two rows with one primary key are a conflict, of which one row or none is written."""
        return self.on_conflict in ("ERROR", "NOTHING")

    @property
    def schema(self) -> Schema:
        return self.input.schema

    def details(self) -> list[str]:
        parts = [".".join(self.path), *(["overwrite"] if self.overwrite else [])]
        parts += [f"on conflict={self.on_conflict}"] if self.on_conflict else []
        return parts + ([f"partition={dict(self.partition)}"] if self.partition else [])


# TO_CHANGELOG and FROM_CHANGELOG


class ToChangelog(Single):
    """TO_CHANGELOG: each change of the input as an insertion, with the code of its kind as first column."""

    codes: tuple[tuple[str, str], ...]
    """(name of a ``RowKind``, its code); changes of other kinds are left out"""
    partition: tuple[int, ...]
    columns: Schema

    def details(self) -> list[str]:
        return [f"{name}={code}" for name, code in self.codes]


class FromChangelog(Single):
    """FROM_CHANGELOG: turns rows with a column that says which kind of change they are into changes of a table."""

    op: int
    """the column with the code"""
    codes: tuple[tuple[str, str], ...]
    """(code, name of its ``RowKind``)"""
    partition: tuple[int, ...]
    """columns of the result"""
    skip: bool
    """whether rows with other codes are left out; else they are errors"""
    columns: Schema

    @property
    def by_key(self) -> bool:
        """Whether updates come without the old rows: then ``partition`` is the key."""
        kinds = {name for _, name in self.codes}
        return "UPDATE_AFTER" in kinds and "UPDATE_BEFORE" not in kinds

    def details(self) -> list[str]:
        return [self.input.names[self.op], *(f"{code}={name}" for code, name in self.codes)]


# Plans of TO_CHANGELOG and FROM_CHANGELOG

OP = "op"
KINDS = tuple(kind.name for kind in RowKind)
Mapping = Sequence[tuple[str, str]]


def to_changelog(plan: Rel, op: str = OP, mapping: Mapping | None = None, partition: Sequence[int] = ()) -> Rel:
    """The changes of a table as insertions: the columns of ``partition``, the code of the change, the other columns.

    :param mapping: names of kinds, several with commas between them, and their code; changes of other kinds are left
        out. None: each kind by its name.
    :raises ValueError: no or several codes for a kind, an unknown kind, a column ``op`` that is there already.
    """
    if op in plan.names:
        raise ValueError(f"TO_CHANGELOG: the input has a column '{op}' already: give the code another name with op")
    codes = [(name, code) for names, code in _pairs("TO_CHANGELOG", mapping) for name in _split(names)]
    _check_kinds("TO_CHANGELOG", [name for name, _ in codes])
    _check_once("TO_CHANGELOG", [name for name, _ in codes])
    columns = (Field(op, string().not_null()), *(replace(column, time=None) for column in plan.schema))
    made = ToChangelog(plan, tuple(codes), tuple(partition), columns)
    keys = [each + 1 for each in partition]
    return _in_order(made, [*keys, 0, *(at for at in range(1, len(columns)) if at not in keys)])


def from_changelog(
    plan: Rel, op: str = OP, mapping: Mapping | None = None, partition: Sequence[int] = (), handling: str = "FAIL"
) -> Rel:
    """A table of changes as the table that they make: the columns of ``partition``, then the others, without ``op``.

    :param mapping: codes, several with commas between them, and the name of their kind. None: each kind by its name.
    :param handling: FAIL or SKIP: what is done with rows that have another code.
    :raises ValueError: there is no such column of text, a code occurs twice, a kind is unknown, updates have no old
        rows and there is no key.
    """
    if op not in plan.names:
        raise ValueError(f"FROM_CHANGELOG: the input has no column '{op}': say with op which one has the codes")
    place = plan.names.index(op)
    if not isinstance(plan.schema[place].type, (CharType, VarCharType)):
        raise ValueError(f"FROM_CHANGELOG: the codes are text, and '{op}' is {plan.schema[place].type}")
    if place in partition:
        raise ValueError(f"FROM_CHANGELOG: '{op}' has the codes, so rows are not partitioned by it")
    if handling not in ("FAIL", "SKIP"):
        raise ValueError(f"FROM_CHANGELOG: invalid_op_handling is FAIL or SKIP, not {handling}")
    codes = [(code, name) for texts, name in _pairs("FROM_CHANGELOG", mapping) for code in _split(texts)]
    kinds = {name for _, name in codes}
    _check_kinds("FROM_CHANGELOG", kinds)
    _check_once("FROM_CHANGELOG", [code for code, _ in codes])
    if "UPDATE_BEFORE" in kinds and "UPDATE_AFTER" not in kinds:
        raise ValueError("FROM_CHANGELOG: op_mapping has UPDATE_BEFORE, and no UPDATE_AFTER")
    if "UPDATE_AFTER" in kinds and "UPDATE_BEFORE" not in kinds and not partition:
        raise ValueError(
            "FROM_CHANGELOG: updates without old rows (UPDATE_BEFORE) need a key: TABLE t PARTITION BY key"
        )
    columns = tuple(replace(column, time=None) for at, column in enumerate(plan.schema) if at != place)
    keys = tuple(each - (each > place) for each in partition)
    made = FromChangelog(plan, place, tuple(codes), keys, handling == "SKIP", columns)
    return _in_order(made, [*keys, *(at for at in range(len(columns)) if at not in keys)])


def _pairs(function: str, mapping: Mapping | None) -> Mapping:
    if mapping is None:
        return [(name, name) for name in KINDS]
    if not mapping:
        raise ValueError(f"{function}: op_mapping has no entry")
    return mapping


def _split(texts: str) -> list[str]:
    return [each.strip() for each in texts.split(",")]


def _check_kinds(function: str, names: Sequence[str] | set[str]) -> None:
    for name in names:
        if name not in KINDS:
            raise ValueError(f"{function}: op_mapping has '{name}', which is none of {', '.join(KINDS)}")


def _check_once(function: str, names: Sequence[str]) -> None:
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"{function}: op_mapping has '{name}' twice")


def _in_order(plan: Rel, places: Sequence[int]) -> Rel:
    if list(places) == list(range(len(plan.schema))):
        return plan
    fields = tuple(plan.schema[at] for at in places)
    return Project(plan, tuple(Ref(field.type, at) for field, at in zip(fields, places)), fields)
