"""The base of operators on tables: batches in, batches out, expressions computed on columns."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np
import pyarrow as pa

from millrace.relational.functions.evaluate import Evaluator
from millrace.relational.functions.registry import Surroundings
from millrace.relational.rows import Kinds, Rows, concat, record_batch
from millrace.relational.types import DataType
from millrace.runtime.bases.operator import Operator, Output, named_frame
from millrace.runtime.bases.process_operators import keyed_backend
from millrace.runtime.elements import MAX_WATERMARK, MIN_TIMESTAMP, Chunk
from millrace.runtime.functions.evaluator import FunctionEvaluator
from millrace.runtime.functions.runner import FunctionRunner, wrappers_in
from millrace.runtime.rows.expiry import Expiry, SliceClock
from millrace.runtime.state.backend import KeyedStateBackend
from millrace.runtime.tables.state import KeyedMap, KeyedValue, keyed_map, keyed_value
from millrace.runtime.tables.state_table import StateTable, tables_of
from millrace.runtime.tables.stored_calls import StoredCalls
from millrace.runtime.tables.stored_rows import StoredRows

INPUT = "input "
"""prefix of those parts of a meaning that describe the columns of an input"""


@dataclass(frozen=True)
class Environment:
    """The settings of the session that expressions may read."""

    zone: str = "UTC"
    database: str = ""
    configuration: dict[str, str] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, kw_only=True)
class TableConfig(ABC):
    """The description of an operator: frozen, and used to make the operator in each of its subtasks."""

    passes_rows: ClassVar[bool] = False
    """whether the operator has no state, and the state of later operators means the same without it"""

    environment: Environment = Environment()
    timely: bool = True
    """whether a later operator may depend on the watermarks of this one; if not, held-back results may follow a
    watermark"""
    in_step: bool = False
    """whether no result may follow a watermark, even without event time, because a later operator combines the results
    that all tasks emitted up to a watermark"""
    state_ttl: int = 0
    """time in ms after which state that was not written expires (``table.exec.state.ttl``); 0: never"""
    least_slice: int = 0
    """the shortest time that changes are gathered (ms; ``table.exec.mini-batch.allow-latency``), unless their epoch
    ends"""
    every_change: bool = False
    """emit the changes of each input row, as Flink does (``millrace.table.aggregate.every-change``); else those of a
    slice are combined"""
    meaning: tuple[str, ...] = ()
    """what the operator's state means (``relational.rules.meaning``); empty: not known"""
    call_texts: tuple[str, ...] = ()
    """a text for each aggregate call that says what it computes, in the form of ``meaning``"""
    earlier_meaning: tuple[str, ...] = ()
    """the meaning as earlier versions of Millrace recorded it, where that differs"""
    input_columns: tuple[tuple[str, ...], ...] = ()
    """the columns of each input, in the form of ``meaning``"""
    input_names: tuple[tuple[str, ...], ...] = ()
    """the query's names of the columns of each input; of a source the names of its own columns"""
    result_names: tuple[str, ...] = ()
    """the query's names of the columns that the operator's plan node gives"""
    new_calls_begin_empty: bool = False
    """value of the option ``millrace.table.aggregate.new-begin-empty``"""

    @abstractmethod
    def operator(self) -> TableOperator[Any]:
        """A new operator."""

    def stored(self) -> tuple[StoredCalls, tuple[Any, ...]] | None:
        """The layout of accumulators and rows in the operator's state, and the accumulator of no rows; None: a changed
        query can't reuse its state."""
        return None

    def only_rows(self, *rows: StoredRows) -> tuple[StoredCalls, tuple[Any, ...]] | None:
        """The value of ``stored`` for an operator whose state consists of rows."""
        if not self.meaning:
            return None
        groups = tuple(part for part in self.meaning if not part.startswith(INPUT))
        return StoredCalls("", groups, (), rows=rows), ()

    def rows_in(
        self, state: str, form: str, input: int, types: Iterable[DataType], unique: Sequence[int] | None = None
    ) -> StoredRows:
        """The layout of an input's rows in a state.

        :param types: types of the input's columns.
        :param unique: the columns by which the state identifies its rows.
        """
        names = self.input_columns[input] if self.input_columns else ()
        what = "its stored rows" if len(self.input_columns) < 2 else f"its stored rows of input {input + 1}"
        by = None if unique is None or not names else tuple(names[place] for place in unique)
        shown = self.input_names[input] if input < len(self.input_names) else ()
        return StoredRows(state, form, what, names, tuple(str(each.nullable()) for each in types), by, names=shown)

    def state_tables(self) -> tuple[StateTable, ...]:
        """The operator's keyed states as tables, for readers of a savepoint; states that are not named there are shown
        as they are stored."""
        layout = self.stored()
        return () if layout is None else tables_of(layout[0])

    def wrappers(self) -> Iterator[Any]:
        """The wrappers of the user's functions (``table.udf``) that the operator calls."""
        return wrappers_in([getattr(self, field.name) for field in fields(self)])


C = TypeVar("C", bound=TableConfig)


class TableOperator(Operator, Generic[C]):
    """Receives and emits ``Rows``. Subclasses implement ``receive``, and ``flush`` if they hold results back.

    Elements of the runtime are whole batches, without timestamps: event time is a column. The batches of one chunk are
    merged before they are received.
    """

    flushes_before_watermarks = True
    """False: held-back results may follow a watermark, because their rows have no event time. They also may if no later
    operator depends on watermarks (``TableConfig.timely``), unless tasks must be in step (``TableConfig.in_step``)"""

    gathers_changes = False
    """whether ``flush`` emits what has changed since it was called last, so that it must be called after each row if
    each change is wanted by itself"""

    looks_up = False
    """whether the operator looks up rows in an external system"""

    def __init__(self, config: C) -> None:
        self.config = config

    def setup(self, context: Any, output: Any) -> None:
        super().setup(context, output)
        self._under_its_name = named_frame(f"operator {context.name!r}, made at {context.origin}")
        config = self.config
        self.least_slice = config.least_slice
        self.functions = FunctionRunner(context, config.environment.configuration, config.wrappers())
        self.calls_for_each = self.looks_up or not all(wrapper.vectorized for wrapper in config.wrappers())

    def open(self) -> None:
        self.functions.open()

    def close(self) -> None:
        self.functions.close()

    def receive(self, rows: Rows, input: int) -> None:
        """Process a batch of at least one row."""
        raise NotImplementedError

    def flush(self) -> None:
        """Emit the results that were held back in this slice."""

    def advance(self, watermark: int) -> None:
        """Event time has advanced to ``watermark`` (ms): emit what is due. The watermark is passed on afterwards."""

    def passed_on(self, watermark: int) -> int:
        """The watermark to pass on (ms): a lower one for operators whose results may be older."""
        return watermark

    def process(self, chunk: Chunk, input: int) -> None:
        rows = concat(chunk.values)
        if not len(rows):
            return
        each = self.gathers_changes and self.config.every_change
        try:
            self._under_its_name(self._receive_each if each else self.receive, rows, input)
        except Exception as error:
            raise self.context.error(error) from error

    def _receive_each(self, rows: Rows, input: int) -> None:
        """Process rows one by one; their changes are emitted as one batch."""
        output, gathered = self.output, _Gathered(self.output)
        self.output = gathered
        try:
            for place in range(len(rows)):
                self.receive(rows.take(np.array([place])), input)
                self.flush()
        finally:
            self.output = output
        if gathered.rows:
            output.emit(Chunk([concat(gathered.rows)]))

    def process_watermark(self, watermark: int) -> None:
        self.watermark = watermark
        try:
            self._under_its_name(self.advance, watermark)
            in_time = self.flushes_before_watermarks and self.config.timely
            if in_time or self.config.in_step or watermark == MAX_WATERMARK:
                self._under_its_name(self.flush)
        except Exception as error:
            raise self.context.error(error) from error
        self.output.mark(self.passed_on(watermark))

    def end_slice(self) -> None:
        self._flush()

    def end_input(self) -> None:
        self._flush()

    def _flush(self) -> None:
        try:
            self._under_its_name(self.flush)
        except Exception as error:
            raise self.context.error(error) from error

    def emit_rows(self, rows: Rows) -> None:
        """Emit a batch, unless it is empty."""
        if len(rows):
            self.output.emit(Chunk([rows]))

    def emit_columns(self, columns: Sequence[pa.Array], length: int, kinds: Kinds | None = None) -> None:
        """Emit these columns as a batch."""
        self.emit_rows(Rows(record_batch(columns, length), kinds))

    def evaluator(self, columns: Sequence[pa.Array], length: int) -> Evaluator:
        """An evaluator of expressions on a batch, with the present processing time and watermark."""
        environment = self.config.environment
        surroundings = Surroundings(
            length=length,
            zone=environment.zone,
            now=self.context.clock() * 1000,
            database=environment.database,
            watermark=None if self.watermark == MIN_TIMESTAMP else self.watermark,
            configuration=environment.configuration,
        )
        if self.functions:
            return FunctionEvaluator(columns, surroundings, self.functions)
        return Evaluator(columns, surroundings)


class _Gathered:
    """An output in front of another one that retains the emitted batches."""

    def __init__(self, output: Output) -> None:
        self.rows: list[Rows] = []
        self.emit_side, self.mark = output.emit_side, output.mark

    def emit(self, chunk: Chunk) -> None:
        self.rows += chunk.values


class KeyedTableOperator(TableOperator[C]):
    """An operator with state by key: ``keyed_value`` and ``keyed_map``, to be called in ``setup``.

    The key is a tuple of values, also if there is only one key column. The address of state is a key or ``Scoped(key,
    namespace)``. Everything that an operator stores between two epochs is in such state, so checkpoints, rescaling and
    other copies of the task work as for any keyed operator. Whatever it derives from the state it computes again in
    ``open`` and ``take_over_keyed``.
    """

    def setup(self, context: Any, output: Any) -> None:
        super().setup(context, output)
        self.backend: KeyedStateBackend = keyed_backend(self)
        self._slice_clock = SliceClock(self.context.clock)

    def keyed_state(self) -> KeyedStateBackend:
        return self.backend

    def keyed_value(self, name: str, ttl: int | None = None) -> KeyedValue:
        """A state with one object per address.

        :param ttl: time to live in ms, 0 for never; None: the configured time.
        """
        return keyed_value(self.backend, name, self.config.state_ttl if ttl is None else ttl)

    def expiry(self, ttl: int | None = None) -> Expiry | None:
        """When the rows of a table in columns expire; None: never. All tables of the operator have one clock.

        :param ttl: as for ``keyed_value``.
        """
        ttl = self.config.state_ttl if ttl is None else ttl
        return Expiry(ttl, self._slice_clock) if ttl else None

    def keyed_map(self, name: str, ttl: int | None = None) -> KeyedMap:
        """A state with a dict per address, read and written entry by entry."""
        return keyed_map(self.backend, name, self.config.state_ttl if ttl is None else ttl)
