"""The nodes of a relational plan. Frozen; every node knows its columns (``schema``).

A plan is made by the SQL front end or the Table API, changed by rules, and run by Spark (batch) or by the runtime
(streaming). The same nodes describe both: what is streaming about a query is decided by how it is run.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from millrace.relational.rex import AggCall, Frame, Rex, SortKey
from millrace.relational.types import DataType

ROWTIME, PROCTIME = "ROWTIME", "PROCTIME"


@dataclass(frozen=True)
class Field:
    """A column of a node's result."""

    name: str
    type: DataType
    time: str | None = None
    """ROWTIME or PROCTIME for a time attribute"""

    def __str__(self) -> str:
        return f"{self.name} {self.type}" + (f" *{self.time}*" if self.time else "")


Schema = tuple[Field, ...]


@dataclass(frozen=True)
class Rel:
    """Base of all nodes. ``schema`` is computed by the subclasses' constructors or given."""

    @property
    def inputs(self) -> tuple[Rel, ...]:
        return ()

    @property
    def schema(self) -> Schema:
        raise NotImplementedError

    def with_inputs(self, inputs: tuple[Rel, ...]) -> Rel:
        """This node over other inputs, as many as it has."""
        return self

    @property
    def names(self) -> list[str]:
        return [column.name for column in self.schema]


@dataclass(frozen=True)
class _Single(Rel):
    """A node with one input."""

    input: Rel

    @property
    def inputs(self) -> tuple[Rel, ...]:
        return (self.input,)

    def with_inputs(self, inputs: tuple[Rel, ...]) -> Rel:
        return replace(self, input=inputs[0])


@dataclass(frozen=True)
class _SameSchema(_Single):
    @property
    def schema(self) -> Schema:
        return self.input.schema


# -- leaves -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
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
    filters: tuple[Rex, ...] = ()
    """conditions that the source may use to read less; they are checked again above"""
    versions: bool = False
    """whether every version of a row counts, not only the one that is there at the end of a batch"""

    @property
    def schema(self) -> Schema:
        return self.columns


@dataclass(frozen=True)
class Values(Rel):
    """Rows written in the query: literals in their Python form."""

    columns: Schema
    rows: tuple[tuple[Any, ...], ...]

    @property
    def schema(self) -> Schema:
        return self.columns


# -- one row after the other ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Project(_Single):
    """Compute columns. ``times`` says which of them are time attributes (None: as the references say)."""

    expressions: tuple[Rex, ...]
    columns: Schema

    @property
    def schema(self) -> Schema:
        return self.columns


@dataclass(frozen=True)
class Filter(_SameSchema):
    """Rows for which the condition is TRUE."""

    condition: Rex


@dataclass(frozen=True)
class Watermark(_Single):
    """WATERMARK FOR column AS expression: the column becomes the event time attribute."""

    column: int
    expression: Rex

    @property
    def schema(self) -> Schema:
        columns = self.input.schema
        return tuple(
            replace(each, time=ROWTIME) if index == self.column else each for index, each in enumerate(columns)
        )


@dataclass(frozen=True)
class Correlate(_Single):
    """LATERAL TABLE(f(...)) and CROSS JOIN UNNEST(...): each row with the rows that a table function makes of it.

    ``function`` is UNNEST (WITH ORDINALITY: option), another built-in name, or UDTF with ``udf``. The result has the
    columns of the input and then those of the function.
    """

    function: str
    args: tuple[Rex, ...]
    produced: Schema
    left: bool = False
    """LEFT JOIN ... ON TRUE: a row without any result stays, with NULLs"""
    condition: Rex | None = None
    """over input and produced columns"""
    udf: Any = None
    options: tuple[tuple[str, Any], ...] = ()

    @property
    def schema(self) -> Schema:
        return self.input.schema + _nullable(self.produced, self.left)


@dataclass(frozen=True)
class Expand(_Single):
    """Each row gives one row a projection: how streaming plans compute GROUPING SETS."""

    projections: tuple[tuple[Rex, ...], ...]
    columns: Schema

    @property
    def schema(self) -> Schema:
        return self.columns


# -- sets -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class SetOp(Rel):
    """UNION, INTERSECT, EXCEPT; ``all`` keeps duplicates. The branches have the types of ``columns``."""

    kind: str
    all: bool
    branches: tuple[Rel, ...]
    columns: Schema

    @property
    def inputs(self) -> tuple[Rel, ...]:
        return self.branches

    @property
    def schema(self) -> Schema:
        return self.columns

    def with_inputs(self, inputs: tuple[Rel, ...]) -> Rel:
        return replace(self, branches=inputs)


@dataclass(frozen=True)
class Sort(_SameSchema):
    """ORDER BY with OFFSET and FETCH; without keys it is LIMIT alone."""

    keys: tuple[SortKey, ...]
    offset: int = 0
    fetch: int | None = None


# -- aggregation ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Aggregate(_Single):
    """GROUP BY: the key columns, then the aggregates. ``sets`` are GROUPING SETS as positions in ``keys`` (one set of
    all keys for a plain GROUP BY; the columns outside a set are NULL). Without keys there is one row, also of nothing.
    """

    keys: tuple[int, ...]
    """columns of the input"""
    aggregates: tuple[AggCall, ...]
    columns: Schema
    sets: tuple[tuple[int, ...], ...] | None = None
    """None: all keys"""

    @property
    def schema(self) -> Schema:
        return self.columns


@dataclass(frozen=True)
class TableAggregate(_Single):
    """A table aggregate function of the user: for every group any number of rows, each behind the keys."""

    keys: tuple[int, ...]
    call: AggCall
    columns: Schema

    @property
    def schema(self) -> Schema:
        return self.columns


@dataclass(frozen=True)
class WindowSpec:
    """TUMBLE, HOP, CUMULATE or SESSION. Times in ms. ROWS for windows of the Table API over so many rows."""

    kind: str
    size: int
    """of a tumbling or hopping window; the largest of a cumulating one; the gap of a session"""
    slide: int | None = None
    """of a hopping window; the step of a cumulating one"""
    offset: int = 0


@dataclass(frozen=True)
class WindowTable(_Single):
    """A windowing table function: each row once per window that it is in, with the columns window_start, window_end
    (TIMESTAMP(3)) and window_time, a time attribute of the kind and type of the time column."""

    window: WindowSpec
    time: int
    """the column with the time attribute"""
    partition: tuple[int, ...] = ()
    """PARTITION BY of a session"""
    columns: Schema = ()

    @property
    def schema(self) -> Schema:
        return self.columns


@dataclass(frozen=True)
class WindowAggregate(_Single):
    """Aggregates per window and key: of ``GROUP BY TUMBLE(ts, ...), k``, or of GROUP BY window_start, window_end, k
    over a ``WindowTable`` (a rule finds those; ``attached`` if the input has window_start and window_end already).

    The result: the keys, the aggregates, then ``properties``.
    """

    window: WindowSpec
    time: int
    """the column with the time attribute; of an attached window the column of window_end"""
    keys: tuple[int, ...]
    aggregates: tuple[AggCall, ...]
    properties: tuple[str, ...]
    """some of START, END, ROWTIME, PROCTIME"""
    columns: Schema
    attached: tuple[int, int] | None = None
    """the columns of window_start and window_end"""
    sets: tuple[tuple[int, ...], ...] | None = None

    @property
    def schema(self) -> Schema:
        return self.columns


@dataclass(frozen=True)
class Over(_Single):
    """Aggregates over the rows around each row: the input's columns, then one for each call. All calls of a node share
    partition and order; each has its frame."""

    partition: tuple[int, ...]
    order: tuple[SortKey, ...]
    calls: tuple[tuple[AggCall, Frame], ...]
    produced: Schema

    @property
    def schema(self) -> Schema:
        return self.input.schema + self.produced


@dataclass(frozen=True)
class Rank(_Single):
    """Top-N: the rows of each partition whose rank is from ``first`` to ``last``. ``function`` is ROW_NUMBER, RANK or
    DENSE_RANK. A rule makes it of a filter over an ``Over``; with ``row_number`` the rank is the last column."""

    function: str
    partition: tuple[int, ...]
    order: tuple[SortKey, ...]
    first: int
    last: int
    number: Field | None = None
    window: tuple[int, int] | None = None
    """window Top-N: the columns of window_start and window_end, which are in ``partition`` too"""

    @property
    def schema(self) -> Schema:
        return self.input.schema if self.number is None else (*self.input.schema, self.number)


@dataclass(frozen=True)
class Deduplicate(_Single):
    """The first or last row of each key by a time attribute: Top-1 of a ROW_NUMBER ordered by time."""

    keys: tuple[int, ...]
    time: int
    last: bool
    window: tuple[int, int] | None = None
    number: Field | None = None

    @property
    def schema(self) -> Schema:
        return self.input.schema if self.number is None else (*self.input.schema, self.number)


@dataclass(frozen=True)
class ToChangelog(_Single):
    """TO_CHANGELOG: each change of the input as an insertion, with the code of its kind as first column."""

    codes: tuple[tuple[str, str], ...]
    """(name of a ``RowKind``, its code); changes of other kinds are left out"""
    partition: tuple[int, ...]
    columns: Schema

    @property
    def schema(self) -> Schema:
        return self.columns


@dataclass(frozen=True)
class FromChangelog(_Single):
    """FROM_CHANGELOG: rows that say which change they are as the table that they make, without that column."""

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
    def schema(self) -> Schema:
        return self.columns

    @property
    def by_key(self) -> bool:
        """Whether updates come without the old rows: then ``partition`` is the key."""
        kinds = {name for _, name in self.codes}
        return "UPDATE_AFTER" in kinds and "UPDATE_BEFORE" not in kinds


# -- joins ------------------------------------------------------------------------------------------------------------

JOIN_KINDS = ("INNER", "LEFT", "RIGHT", "FULL", "SEMI", "ANTI")


@dataclass(frozen=True)
class _Two(Rel):
    left: Rel
    right: Rel
    kind: str

    @property
    def inputs(self) -> tuple[Rel, ...]:
        return (self.left, self.right)

    def with_inputs(self, inputs: tuple[Rel, ...]) -> Rel:
        return replace(self, left=inputs[0], right=inputs[1])

    @property
    def schema(self) -> Schema:
        """Of an outer join's optional side every column may be NULL."""
        if self.kind in ("SEMI", "ANTI"):
            return self.left.schema
        return _nullable(self.left.schema, self.kind in ("RIGHT", "FULL")) + _nullable(
            self.right.schema, self.kind in ("LEFT", "FULL")
        )


@dataclass(frozen=True)
class Join(_Two):
    """A regular join: both sides are kept, whatever comes later may still match. ``condition`` is over both inputs."""

    condition: Rex
    null_aware: bool = False
    """an ANTI join for NOT IN: NULLs on either side make the comparison unknown"""

    @property
    def schema(self) -> Schema:
        # A regular join delays nothing, so its rows are not in the order of any time: no time attributes.
        return tuple(replace(each, time=None) for each in super().schema)


@dataclass(frozen=True)
class IntervalJoin(_Two):
    """A join whose condition bounds the time between two rows: lower <= right time - left time <= upper (ms)."""

    condition: Rex
    left_time: int
    right_time: int
    """column of the right input"""
    lower: int
    upper: int


@dataclass(frozen=True)
class WindowJoin(_Two):
    """A join of two windowed inputs with equal windows."""

    condition: Rex
    left_window: tuple[int, int]
    right_window: tuple[int, int]
    """columns of the right input"""


@dataclass(frozen=True)
class TemporalJoin(_Two):
    """FOR SYSTEM_TIME AS OF left time: each left row with the version of the right table that was valid then. ``kind``
    is INNER or LEFT. The right input's key and time come from its primary key and watermark."""

    condition: Rex
    left_time: int
    right_time: int | None
    """None: processing time, the newest version"""
    right_key: tuple[int, ...]


@dataclass(frozen=True)
class LookupJoin(_Single):
    """Each row with the rows that an external table has for its key at that moment. ``kind`` is INNER or LEFT."""

    source: Any = field(compare=False)
    """a ``LookupTableSource`` (``relational.sources``)"""
    path: tuple[str, str, str]
    table: Schema
    """the columns of the external table that are read"""
    kind: str
    lookup: tuple[tuple[int, Rex], ...]
    """column of the table -> what it is equal to: a column of the input, or a literal"""
    condition: Rex | None = None
    """what else must hold, over input and table"""
    options: tuple[tuple[str, str], ...] = ()
    """of the LOOKUP hint"""

    @property
    def schema(self) -> Schema:
        return self.input.schema + _nullable(self.table, self.kind == "LEFT")


# -- the ends ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Sink(_Single):
    """INSERT INTO a table. Its input has the columns of the table in order."""

    path: tuple[str, str, str]
    sink: Any = field(compare=False)
    """a ``TableSink`` (``relational.sources``)"""
    overwrite: bool = False
    partition: tuple[tuple[str, Any], ...] = ()
    """static PARTITION (name = value, ...)"""
    columns: Schema = ()
    """as the table declares them: what it demands of the input's values; empty if nothing is demanded"""

    @property
    def schema(self) -> Schema:
        return self.input.schema


@dataclass(frozen=True)
class StreamScan(Rel):
    """A DataStream as a table."""

    columns: Schema
    stream: Any = field(compare=False)
    changelog: Any = field(default=None, compare=False)
    """a ``ChangelogMode``, None for insertions only"""
    key: tuple[int, ...] = ()
    """the columns that rows are known by, if changes come without the former content of rows"""

    @property
    def schema(self) -> Schema:
        return self.columns


@dataclass(frozen=True)
class Hinted(_SameSchema):
    """A query hint on a query block: (name, arguments), e.g. STATE_TTL or a join hint."""

    hints: tuple[tuple[str, tuple[Any, ...]], ...]


def _nullable(schema: Schema, optional: bool) -> Schema:
    return tuple(replace(each, type=each.type.nullable()) for each in schema) if optional else schema


def walk(plan: Rel) -> Iterable[Rel]:
    """The node and everything below it, inputs first."""
    for each in plan.inputs:
        yield from walk(each)
    yield plan


def find(plan: Rel, kind: type[Rel]) -> list[Any]:
    """The nodes of a kind."""
    return [node for node in walk(plan) if isinstance(node, kind)]
