"""The base of operators on tables: batches in, batches out, expressions computed on columns."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, Generic, TypeVar

import pyarrow as pa

from millrace.relational.functions.evaluate import Evaluator
from millrace.relational.functions.registry import Surroundings
from millrace.relational.rows import Kinds, Rows, concat, record_batch
from millrace.relational.types import DataType
from millrace.runtime.bases.operator import Operator, named_frame
from millrace.runtime.bases.process_operators import keyed_backend
from millrace.runtime.elements import MAX_WATERMARK, MIN_TIMESTAMP, Chunk
from millrace.runtime.functions.evaluator import FunctionEvaluator
from millrace.runtime.functions.runner import FunctionRunner, wrappers_in
from millrace.runtime.state.backend import KeyedStateBackend
from millrace.runtime.tables.state import KeyedMap, KeyedValue, keyed_map, keyed_value
from millrace.runtime.tables.stored_calls import StoredCalls
from millrace.runtime.tables.stored_rows import StoredRows

INPUT = "input "
"""how the parts of a meaning begin that say which columns an input has"""


@dataclass(frozen=True)
class Environment:
    """What expressions may know of the session."""

    zone: str = "UTC"
    database: str = ""
    configuration: dict[str, str] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, kw_only=True)
class TableConfig(ABC):
    """What an operator does: a frozen description that makes the operator, in as many subtasks as there are."""

    passes_rows: ClassVar[bool] = False
    """whether it keeps nothing, and what is behind it means the same without it"""

    environment: Environment = Environment()
    timely: bool = True
    """whether anything behind the operator may go by its watermarks: else results that it holds back may follow them"""
    in_step: bool = False
    """whether no result may follow a watermark, even without event time: something behind the operator puts together
    what all tasks had given at one"""
    state_ttl: int = 0
    """ms after which state that was not written expires (``table.exec.state.ttl``); 0: never"""
    least_slice: int = 0
    """how long changes are gathered at least (ms; ``table.exec.mini-batch.allow-latency``), unless their epoch ends"""
    meaning: tuple[str, ...] = ()
    """what its state means (``relational.rules.meaning``); nothing: it is not known"""
    call_texts: tuple[str, ...] = ()
    """what each aggregate call computes, as it is said in ``meaning``"""
    earlier_meaning: tuple[str, ...] = ()
    """the same as earlier versions said it, where that differs"""
    input_columns: tuple[tuple[str, ...], ...] = ()
    """what the columns of each input are, as it is said in ``meaning``"""
    new_calls_begin_empty: bool = False
    """``millrace.table.aggregate.new-begin-empty``"""

    @abstractmethod
    def operator(self) -> TableOperator[Any]:
        """A new operator."""

    def stored(self) -> tuple[StoredCalls, tuple[Any, ...]] | None:
        """How accumulators and rows lie in its state, and an accumulator of nothing; None: it has none that a changed
        query may keep."""
        return None

    def only_rows(self, *rows: StoredRows) -> tuple[StoredCalls, tuple[Any, ...]] | None:
        """``stored`` of an operator whose state is rows."""
        if not self.meaning:
            return None
        groups = tuple(part for part in self.meaning if not part.startswith(INPUT))
        return StoredCalls("", groups, (), rows=rows), ()

    def rows_in(
        self, state: str, form: str, input: int, types: Iterable[DataType], unique: Sequence[int] | None = None
    ) -> StoredRows:
        """How the rows of an input lie in a state.

        :param types: of the columns of the input.
        :param unique: the columns by which the state has its rows.
        """
        names = self.input_columns[input] if self.input_columns else ()
        what = "its stored rows" if len(self.input_columns) < 2 else f"its stored rows of input {input + 1}"
        by = None if unique is None or not names else tuple(names[place] for place in unique)
        return StoredRows(state, form, what, names, tuple(str(each.nullable()) for each in types), by)

    def wrappers(self) -> Iterator[Any]:
        """The wrappers of the user's functions (``table.udf``) that the operator calls."""
        return wrappers_in([getattr(self, field.name) for field in fields(self)])


C = TypeVar("C", bound=TableConfig)


class TableOperator(Operator, Generic[C]):
    """Receives and emits ``Rows``. Subclasses implement ``receive``, and ``flush`` if they hold results back.

    Elements of the runtime are whole batches, without timestamps: event time is a column. What comes in one chunk is
    put together before it is received.
    """

    flushes_before_watermarks = True
    """False: results that are held back may follow a watermark, since their rows have no event time. So they do where
    nothing goes by watermarks (``TableConfig.timely``); not where tasks are to be in step (``TableConfig.in_step``)"""

    looks_up = False
    """whether it asks another system about rows"""

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
        """A batch of at least one row."""
        raise NotImplementedError

    def flush(self) -> None:
        """Emit what was held back in this slice."""

    def advance(self, watermark: int) -> None:
        """Event time has come to ``watermark`` (ms): emit what is due. It is handed on afterwards."""

    def passed_on(self, watermark: int) -> int:
        """The watermark that is handed on: one before it for operators whose results may be older."""
        return watermark

    def process(self, chunk: Chunk, input: int) -> None:
        rows = concat(chunk.values)
        if not len(rows):
            return
        try:
            self._under_its_name(self.receive, rows, input)
        except Exception as error:
            raise self.context.error(error) from error

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
        """Hand a batch on, unless it is empty."""
        if len(rows):
            self.output.emit(Chunk([rows]))

    def emit_columns(self, columns: Sequence[pa.Array], length: int, kinds: Kinds | None = None) -> None:
        """Hand these columns on as a batch."""
        self.emit_rows(Rows(record_batch(columns, length), kinds))

    def evaluator(self, columns: Sequence[pa.Array], length: int) -> Evaluator:
        """Computes expressions on a batch, at this moment's processing time and watermark."""
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


class KeyedTableOperator(TableOperator[C]):
    """With state by key: ``keyed_value`` and ``keyed_map``, asked for in ``setup``.

    The key is a tuple of values (``keys``), also if there is only one key column. State may lie at a key or at
    ``Scoped(key, namespace)``. Everything that an operator keeps between two epochs is in such state, so checkpoints,
    rescaling and other copies of the task work as for any keyed operator. What it derives from the state it makes anew
    in ``open`` and ``take_over_keyed``.
    """

    def setup(self, context: Any, output: Any) -> None:
        super().setup(context, output)
        self.backend: KeyedStateBackend = keyed_backend(self)

    def keyed_state(self) -> KeyedStateBackend:
        return self.backend

    def keyed_value(self, name: str, ttl: int | None = None) -> KeyedValue:
        """A state with one object at an address.

        :param ttl: ms until it expires, 0 for never; None: as the configuration says.
        """
        return keyed_value(self.backend, name, self.config.state_ttl if ttl is None else ttl)

    def keyed_map(self, name: str, ttl: int | None = None) -> KeyedMap:
        """A state with a dict at an address, read and written entry by entry."""
        return keyed_map(self.backend, name, self.config.state_ttl if ttl is None else ttl)
