"""The events as tables: WITH ('connector' = 'nexmark', 'kind' = 'bid', 'events' = '2000000'), and a table outside."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from benchmarks.nexmark.events import Columns, Numbers, Settings, auctions, bids, numbers_of, persons
from millrace.common.source import (
    Boundedness,
    InputStatus,
    ReaderOutput,
    Source,
    SourceReaderContext,
    SplitEnumeratorContext,
)
from millrace.connectors.source_base import QueueEnumerator, QueueReader
from millrace.relational.rex import Rex
from millrace.relational.rows import Rows, record_batch
from millrace.relational.sources import LookupTableSource, TableContext, TableFactory, TableSource

BLOCK = 50_000
"""events whose rows are made at once"""
SIDE_ROWS = 10_000
SIDE_DDL = "CREATE TEMPORARY TABLE side (number BIGINT, word STRING) WITH ('connector' = 'nexmark-side')"
_MAKERS: dict[str, Callable[[Settings, Numbers], Columns]] = {
    "person": persons,
    "auction": auctions,
    "bid": bids,
}

COLUMNS = {
    "person": "id BIGINT, name STRING, emailAddress STRING, creditCard STRING, city STRING, state STRING, "
    "dateTime TIMESTAMP(3), extra STRING",
    "auction": "id BIGINT, itemName STRING, description STRING, initialBid BIGINT, reserve BIGINT, "
    "dateTime TIMESTAMP(3), expires TIMESTAMP(3), seller BIGINT, category BIGINT, extra STRING",
    "bid": "auction BIGINT, bidder BIGINT, price BIGINT, channel STRING, url STRING, dateTime TIMESTAMP(3), "
    "extra STRING",
}


def ddl(kind: str, settings: Settings, block: int = BLOCK) -> str:
    """CREATE TABLE for the events of a kind; they come in order, and may be 4 s late as far as the watermark knows."""
    return (
        f"CREATE TEMPORARY TABLE {kind} ({COLUMNS[kind]}, WATERMARK FOR dateTime AS dateTime - INTERVAL '4' SECOND) "
        f"WITH ('connector' = 'nexmark', 'kind' = '{kind}', 'events' = '{settings.events}', "
        f"'rate' = '{settings.rate}', 'seed' = '{settings.seed}', 'block' = '{block}')"
    )


@dataclass(frozen=True)
class EventSplit:
    """Some of the blocks of events: every ``step``-th from the position on."""

    split_id: str
    position: int
    """number of the next block"""
    step: int


class EventSource(Source[Rows, EventSplit]):
    """The subtasks take turns, so that event time goes on evenly."""

    def __init__(self, kind: str, settings: Settings, columns: Sequence[int], block: int = BLOCK) -> None:
        self._kind = kind
        self._settings = settings
        self._columns = tuple(columns)
        self._block = block

    def get_boundedness(self) -> Boundedness:
        return Boundedness.BOUNDED

    def create_enumerator(
        self, context: SplitEnumeratorContext[EventSplit], checkpoint: Sequence[EventSplit] | None = None
    ) -> QueueEnumerator[EventSplit]:
        if checkpoint is None:
            count = context.current_parallelism()
            checkpoint = [EventSplit(str(number), number, count) for number in range(count)]
        return QueueEnumerator(context, checkpoint)

    def create_reader(self, context: SourceReaderContext) -> EventReader:
        return EventReader(self._kind, self._settings, self._columns, self._block)


class EventReader(QueueReader[Rows, EventSplit]):
    def __init__(self, kind: str, settings: Settings, columns: tuple[int, ...], block: int) -> None:
        super().__init__()
        self._kind = kind
        self._settings = settings
        self._columns = columns
        self._block = block

    def poll_next(self, output: ReaderOutput[Rows]) -> InputStatus:
        status = super().poll_next(output)
        self._splits.rotate(-1)  # with several splits event time would else go back from one to the next
        return status

    def read(self, split: EventSplit, output: ReaderOutput[Rows]) -> EventSplit | None:
        first = split.position * self._block
        last = min(first + self._block, self._settings.events)
        if first >= last:
            return None
        output.collect(rows_of(self._kind, self._settings, self._columns, first, last))
        return replace(split, position=split.position + split.step)


def rows_of(kind: str, settings: Settings, columns: Sequence[int], first: int, last: int) -> Rows:
    """The rows of the events of a kind between two numbers."""
    numbers = numbers_of(kind, first, last)
    makers = list(_MAKERS[kind](settings, numbers).values())
    return Rows(record_batch([makers[index]() for index in columns], len(numbers)))


class EventTable(TableSource):
    def __init__(self, kind: str, settings: Settings, block: int) -> None:
        self._kind = kind
        self._settings = settings
        self._block = block

    def stream(self, columns: Sequence[int], filters: Sequence[Rex] = ()) -> Source[Rows, Any]:
        return EventSource(self._kind, self._settings, columns, self._block)


class NexmarkFactory(TableFactory):
    identifier = "nexmark"
    required = ("kind",)
    optional = ("events", "rate", "seed", "block")

    def source(self, table: TableContext) -> TableSource:
        numbers = {name: int(table.options[name]) for name in self.optional if name in table.options}
        block = numbers.pop("block", BLOCK)
        return EventTable(table.options["kind"], Settings(**numbers), block)


def side_word(number: int) -> str:
    """What the table outside has for a number."""
    return f"word {number}"


class SideLookup(LookupTableSource):
    """Finds the words of numbers; only the column of the number can be asked for."""

    def lookup(self, keys: Sequence[tuple[Any, ...]]) -> Iterable[Sequence[tuple[Any, ...]]]:
        return [[(number, side_word(number))] if 0 <= number < SIDE_ROWS else [] for (number,) in keys]


class SideFactory(TableFactory):
    """A bounded table outside: a word for each number below ``SIDE_ROWS``."""

    identifier = "nexmark-side"

    def lookup_source(self, table: TableContext, key: Sequence[int]) -> LookupTableSource:
        if tuple(key) != (0,):
            raise ValueError(f"table {table.summary} is looked up by its number")
        return SideLookup()
