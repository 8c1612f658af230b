"""Plan nodes that hold rows by key: GROUP BY, windows, OVER, Top-N, deduplication, MATCH_RECOGNIZE and the joins."""

from __future__ import annotations

from dataclasses import field, replace
from functools import cached_property
from typing import Any

from millrace.relational.nodes.rel import EXPRESSIONS, Rel, Single, nullable
from millrace.relational.rex import (
    AggCall,
    Field,
    Frame,
    Pattern,
    Rex,
    Schema,
    SortKey,
    agg_text,
    frame_text,
    keys_text,
    named,
    rex_text,
    sets_text,
)
from millrace.util.record import Record
from millrace.util.secrets import mask_options

# GROUP BY


class Aggregate(Single):
    """GROUP BY: the key columns, then the aggregates. ``sets`` are GROUPING SETS as positions in ``keys`` (one set of
    all keys for a plain GROUP BY; the columns outside a set are NULL). Without keys there is one row, also of nothing.
    """

    keys: tuple[int, ...]
    """columns of the input"""
    aggregates: tuple[AggCall, ...] = field(metadata=EXPRESSIONS)
    columns: Schema
    sets: tuple[tuple[int, ...], ...] | None = None
    """the grouping sets, as positions in ``keys``; None: one set of all keys"""

    def details(self) -> list[str]:
        source = self.input.schema
        parts = [f"keys={named(self.keys, source)}"] if self.keys else []
        if self.sets is not None:
            parts.append(sets_text(self.keys, self.sets, source))
        return parts + [agg_text(call, source) for call in self.aggregates]


class TableAggregate(Single):
    """A table aggregate function of the user: for every group any number of rows, each behind the keys."""

    keys: tuple[int, ...]
    call: AggCall = field(metadata=EXPRESSIONS)
    columns: Schema


# Windows


class WindowSpec(Record):
    """A window: TUMBLE, HOP, CUMULATE or SESSION with times in ms; or ROWS, a window of the Table API over a number
    of rows."""

    kind: str
    size: int
    """ms (rows for ROWS): the length of a tumbling or hopping window; the greatest length of a cumulating one; the
    gap of a session"""
    slide: int | None = None
    """ms: the slide of a hopping window; the step of a cumulating one; None for other kinds"""
    offset: int = 0

    @property
    def text(self) -> str:
        """The window in the form that EXPLAIN shows."""
        unit = "" if self.kind == "ROWS" else " ms"
        parts = [f"{self.size}{unit}"]
        if self.slide is not None:
            parts.append(f"slide {self.slide}{unit}")
        if self.offset:
            parts.append(f"offset {self.offset} ms")
        return f"{self.kind}({', '.join(parts)})"


class WindowTable(Single):
    """A windowing table function: each row once per window that it is in, with the columns window_start, window_end
    (TIMESTAMP(3)) and window_time, a time attribute of the kind and type of the time column."""

    window: WindowSpec
    time: int
    """the column with the time attribute"""
    partition: tuple[int, ...] = ()
    """PARTITION BY of a session"""
    columns: Schema = ()

    def details(self) -> list[str]:
        source = self.input.schema
        parts = [self.window.text, f"time={source[self.time].name}"]
        return parts + ([f"partition={named(self.partition, source)}"] if self.partition else [])


class Emission(Record):
    """When a group window emits results before and after its end: ``table.exec.emit.*``. Times in ms.

    >>> Emission(early=1000, late=0, lateness=5000).text
    'early every 1000 ms, late with each change until 5000 ms'
    """

    early: int | None = None
    """how long changes before the end wait; 0: not at all; None: for the end"""
    late: int | None = None
    """how long changes behind the end wait; None: there are none, late rows are dropped"""
    lateness: int = 0
    """how late a row may be"""

    @property
    def text(self) -> str:
        """The settings in the form that EXPLAIN shows."""
        early = [] if self.early is None else [f"early {_waiting(self.early)}"]
        late = [] if self.late is None else [f"late {_waiting(self.late)} until {self.lateness} ms"]
        return ", ".join(early + late)


def _waiting(delay: int) -> str:
    return f"every {delay} ms" if delay else "with each change"


class WindowAggregate(Single):
    """Aggregates per window and key: of ``GROUP BY TUMBLE(ts, ...), k``, or of GROUP BY window_start, window_end, k
    over a ``WindowTable`` (a rule finds those; ``attached`` if the input has window_start and window_end already).

    The result: the keys, the aggregates, then ``properties``.
    """

    window: WindowSpec
    time: int
    """the column with the time attribute; of an attached window the column of window_end"""
    keys: tuple[int, ...]
    aggregates: tuple[AggCall, ...] = field(metadata=EXPRESSIONS)
    properties: tuple[str, ...]
    """some of START, END, ROWTIME, PROCTIME"""
    columns: Schema
    attached: tuple[int, int] | None = None
    """the columns of window_start and window_end"""
    sets: tuple[tuple[int, ...], ...] | None = None
    emission: Emission | None = None
    """None: results are emitted at the end of their window only, and never change"""

    def details(self) -> list[str]:
        source = self.input.schema
        parts = [self.window.text, f"time={source[self.time].name}"]
        if self.emission is not None:
            parts.append(f"emit=[{self.emission.text}]")
        if self.keys:
            parts.append(f"keys={named(self.keys, source)}")
        if self.sets is not None:
            parts.append(sets_text(self.keys, self.sets, source))
        if self.attached is not None:
            parts.append(f"attached={named(self.attached, source)}")
        parts += [agg_text(call, source) for call in self.aggregates]
        return parts + ([f"properties=[{', '.join(self.properties)}]"] if self.properties else [])


# OVER, Top-N, deduplication


class Over(Single):
    """Aggregates over the rows around each row: the input's columns, then one for each call. All calls of a node share
    partition and order; each has its frame."""

    partition: tuple[int, ...]
    order: tuple[SortKey, ...] = field(metadata=EXPRESSIONS)
    calls: tuple[tuple[AggCall, Frame], ...] = field(metadata=EXPRESSIONS)
    produced: Schema

    @property
    def schema(self) -> Schema:
        return self.input.schema + self.produced

    def details(self) -> list[str]:
        source = self.input.schema
        parts = [f"partition={named(self.partition, source)}"] if self.partition else []
        if self.order:
            parts.append(f"order=[{keys_text(self.order, source)}]")
        for (call, frame), column in zip(self.calls, self.produced):
            parts.append(f"{agg_text(call, source)} {frame_text(frame)} AS {column.name}")
        return parts


class Rank(Single):
    """Top-N: the rows of each partition whose rank is from ``first`` to ``last``. ``function`` is ROW_NUMBER, RANK or
    DENSE_RANK. A rule makes it of a filter over an ``Over``; with ``row_number`` the rank is the last column."""

    function: str
    partition: tuple[int, ...]
    order: tuple[SortKey, ...] = field(metadata=EXPRESSIONS)
    first: int
    last: int
    number: Field | None = None
    window: tuple[int, int] | None = None
    """window Top-N: the columns of window_start and window_end, which are in ``partition`` too"""

    @property
    def schema(self) -> Schema:
        return self.input.schema if self.number is None else (*self.input.schema, self.number)

    def details(self) -> list[str]:
        source = self.input.schema
        parts = [self.function, f"from={self.first}", f"to={self.last}"]
        if self.partition:
            parts.append(f"partition={named(self.partition, source)}")
        parts.append(f"order=[{keys_text(self.order, source)}]")
        if self.window is not None:
            parts.append(f"window={named(self.window, source)}")
        return parts + ([f"number={self.number.name}"] if self.number is not None else [])


class Deduplicate(Single):
    """The first or last row of each key by a time attribute: Top-1 of a ROW_NUMBER ordered by time."""

    keys: tuple[int, ...]
    time: int
    last: bool
    window: tuple[int, int] | None = None
    number: Field | None = None

    @property
    def schema(self) -> Schema:
        return self.input.schema if self.number is None else (*self.input.schema, self.number)

    def details(self) -> list[str]:
        source = self.input.schema
        parts = ["last" if self.last else "first", f"keys={named(self.keys, source)}", f"time={source[self.time].name}"]
        if self.window is not None:
            parts.append(f"window={named(self.window, source)}")
        return parts + ([f"number={self.number.name}"] if self.number is not None else [])


# MATCH_RECOGNIZE

ONE_ROW, ALL_ROWS = "ONE ROW PER MATCH", "ALL ROWS PER MATCH"
SHOW_EMPTY, OMIT_EMPTY, WITH_UNMATCHED = "SHOW EMPTY MATCHES", "OMIT EMPTY MATCHES", "WITH UNMATCHED ROWS"


class Match(Single):
    """The matches of a pattern in the rows of each partition.

    The result of ONE ROW PER MATCH: the columns of the partition, then the measures. That of ALL ROWS: the columns of
    the partition, those of the order, the measures, then the other columns of the input.
    """

    partition: tuple[int, ...]
    order: tuple[SortKey, ...] = field(metadata=EXPRESSIONS)
    pattern: Pattern
    defines: tuple[tuple[str, Rex], ...] = field(metadata=EXPRESSIONS)
    """what a row must be for a variable; one that is not here takes every row"""
    measures: tuple[Rex, ...] = field(metadata=EXPRESSIONS)
    columns: Schema
    passed: tuple[int, ...] = ()
    """ALL ROWS: the columns of the input that are given out besides those of the partition: first ``ordered`` of them,
    before the measures, then the others"""
    ordered: int = 0
    rows: str = ONE_ROW
    """ONE ROW PER MATCH, or ALL ROWS PER MATCH"""
    empty: str = SHOW_EMPTY
    """for ALL ROWS PER MATCH: SHOW EMPTY MATCHES, OMIT EMPTY MATCHES or WITH UNMATCHED ROWS"""
    skip: str = "PAST LAST ROW"
    """or TO NEXT ROW, TO FIRST, TO LAST"""
    target: tuple[str, ...] = ()
    """the variables that TO FIRST and TO LAST mean: of a subset all its members"""
    within: int | None = None
    """ms: each row of a match comes less than this after the first one; None: no limit"""
    subsets: tuple[tuple[str, tuple[str, ...]], ...] = ()
    anchors: str = ""
    """a subset of ``^$``"""
    standard: bool = False
    """whether matches are found as the SQL standard says; else as Flink's automaton does"""

    def details(self) -> list[str]:
        source = self.input.schema
        parts = [f"partitionBy={named(self.partition, source)}"] if self.partition else []
        parts.append(f"orderBy=[{keys_text(self.order, source)}]")
        names = [column.name for column in self.columns[self._first_measure() :]]
        measures = (f"{rex_text(each, source)} AS {name}" for each, name in zip(self.measures, names))
        parts.append(f"measures=[{', '.join(measures)}]")
        parts.append(f"rowsPerMatch=[{self.rows}{f' {self.empty}' if self.rows == ALL_ROWS else ''}]")
        parts.append(f"after=[SKIP {self.skip}{f' {self._target()}' if self.target else ''}]")
        pattern = f"{'^ ' * ('^' in self.anchors)}{self.pattern}{' $' * ('$' in self.anchors)}"
        parts.append(f"pattern=[({pattern}){'' if self.within is None else f' WITHIN {self.within} ms'}]")
        if self.subsets:
            parts.append("subset=[" + ", ".join(f"{name} = ({', '.join(of)})" for name, of in self.subsets) + "]")
        defines = (f"{name} AS {rex_text(condition, source)}" for name, condition in self.defines)
        parts.append(f"define=[{', '.join(defines)}]")
        return [*parts, f"semantics=[{'standard' if self.standard else 'flink'}]"]

    def _first_measure(self) -> int:
        return len(self.partition) + self.ordered

    def _target(self) -> str:
        if len(self.target) == 1:
            return self.target[0]
        return next((name for name, of in self.subsets if of == self.target), "/".join(self.target))


# Joins

JOIN_KINDS = ("INNER", "LEFT", "RIGHT", "FULL", "SEMI", "ANTI")


class _Two(Rel):
    left: Rel
    right: Rel
    kind: str

    @property
    def inputs(self) -> tuple[Rel, ...]:
        return (self.left, self.right)

    def with_inputs(self, inputs: tuple[Rel, ...]) -> Rel:
        return replace(self, left=inputs[0], right=inputs[1])

    @cached_property
    def schema(self) -> Schema:
        # Kept: rules ask for it again and again, and each join would ask all that are below it.
        return self._columns()

    def _columns(self) -> Schema:
        """The columns of a join; those of an optional side (of an outer join) are nullable."""
        if self.kind in ("SEMI", "ANTI"):
            return self.left.schema
        return nullable(self.left.schema, self.kind in ("RIGHT", "FULL")) + nullable(
            self.right.schema, self.kind in ("LEFT", "FULL")
        )


class Join(_Two):
    """A regular join: the rows of both sides are retained without limit, since any later row may match.
    ``condition`` is over both inputs."""

    condition: Rex = field(metadata=EXPRESSIONS)
    null_aware: bool = False
    """an ANTI join for NOT IN: NULLs on either side make the comparison unknown"""

    def _columns(self) -> Schema:
        # A regular join delays nothing, so its rows are not in the order of any time: no time attributes.
        return tuple(each if each.time is None else replace(each, time=None) for each in super()._columns())

    def details(self) -> list[str]:
        both = self.left.schema + self.right.schema
        return [self.kind, rex_text(self.condition, both), *(["null aware"] if self.null_aware else [])]


class IntervalJoin(_Two):
    """A join whose condition bounds the time between two rows: lower <= right time - left time <= upper (ms)."""

    condition: Rex = field(metadata=EXPRESSIONS)
    left_time: int
    right_time: int
    """column of the right input"""
    lower: int
    upper: int

    def details(self) -> list[str]:
        left, right = self.left.schema[self.left_time].name, self.right.schema[self.right_time].name
        condition = rex_text(self.condition, self.left.schema + self.right.schema)
        return [self.kind, condition, f"{right} - {left} in [{self.lower}, {self.upper}] ms"]


class WindowJoin(_Two):
    """A join of two windowed inputs with equal windows."""

    condition: Rex = field(metadata=EXPRESSIONS)
    left_window: tuple[int, int]
    right_window: tuple[int, int]
    """columns of the right input"""

    def details(self) -> list[str]:
        condition = rex_text(self.condition, self.left.schema + self.right.schema)
        windows = f"{named(self.left_window, self.left.schema)} = {named(self.right_window, self.right.schema)}"
        return [self.kind, condition, windows]


class TemporalJoin(_Two):
    """FOR SYSTEM_TIME AS OF left time: each left row with the version of the right table that was valid then. ``kind``
    is INNER or LEFT. The right input's key and time come from its primary key and watermark."""

    condition: Rex = field(metadata=EXPRESSIONS)
    left_time: int
    right_time: int | None
    """column with the version's time; None: processing time, the newest version"""
    right_key: tuple[int, ...]

    def details(self) -> list[str]:
        version = "newest" if self.right_time is None else self.right.schema[self.right_time].name
        condition = rex_text(self.condition, self.left.schema + self.right.schema)
        of = self.left.schema[self.left_time].name
        return [
            self.kind,
            condition,
            f"as of {of}",
            f"version={version}",
            f"key={named(self.right_key, self.right.schema)}",
        ]


class LookupJoin(Single):
    """Joins each row with the rows that an external table has for its key when the row is processed. ``kind`` is
    INNER or LEFT."""

    source: Any = field(compare=False)
    """a ``LookupTableSource`` (``relational.sources``)"""
    path: tuple[str, str, str]
    table: Schema
    """the columns of the external table that are read"""
    kind: str
    lookup: tuple[tuple[int, Rex], ...] = field(metadata=EXPRESSIONS)
    """column of the table -> what it is equal to: a column of the input, or a literal"""
    condition: Rex | None = field(default=None, metadata=EXPRESSIONS)
    """what else must hold, over input and table"""
    options: tuple[tuple[str, str], ...] = ()
    """(name, value) of the options of the LOOKUP hint"""

    @property
    def schema(self) -> Schema:
        return self.input.schema + nullable(self.table, self.kind == "LEFT")

    def details(self) -> list[str]:
        source = self.input.schema
        keys = ", ".join(f"{self.table[at].name} = {rex_text(key, source)}" for at, key in self.lookup)
        parts = [self.kind, ".".join(self.path), keys]
        if self.condition is not None:
            parts.append(rex_text(self.condition, source + self.table))
        return parts + ([f"options={mask_options(dict(self.options))}"] if self.options else [])
