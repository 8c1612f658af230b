"""``datagen``: rows of sequences and random values, a column at a time."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from millrace.common.source import Source
from millrace.connectors.datagen import DataGeneratorSource, GeneratorFunction
from millrace.connectors.rate import RateLimiterStrategy
from millrace.connectors.tables.generators import Generator, SequenceGenerator, generator
from millrace.connectors.tables.metadata import check_readable
from millrace.relational.option_types import whole_number
from millrace.relational.rex import Rex
from millrace.relational.rows import Rows, record_batch
from millrace.relational.sources import TableContext, TableFactory, TableSource

BATCH = 8192
AT_ONCE = 16
"""batches"""
DEFAULT_RATE = 10_000
"""rows a second of a streaming query"""


@dataclass(frozen=True)
class Batches(GeneratorFunction[Rows]):
    """Makes batch number n. The same number gives the same rows, so that a repeated epoch repeats them."""

    generators: tuple[tuple[int, Generator], ...]
    """columns of the table with what makes them"""
    size: int
    count: int | None
    seed: int

    def map(self, index: int) -> Rows:
        start = index * self.size
        length = self.size if self.count is None else min(self.size, self.count - start)
        columns = [each.column(start, length, (self.seed, place, index)) for place, each in self.generators]
        return Rows(record_batch(columns, length))


class DatagenSource(TableSource):
    """Generated rows. Ends after ``count`` rows, never if that is None.

    :param rate: rows a second over all subtasks, None for no limit.
    """

    def __init__(self, generators: Sequence[Generator], count: int | None, rate: int | None, seed: int) -> None:
        self._generators = tuple(generators)
        self._count = count
        self._rate = rate
        self._seed = seed
        self.bounded = count is not None

    def stream(self, columns: Sequence[int], filters: Sequence[Rex] = ()) -> Source[Rows, Any]:
        size = BATCH if self._rate is None else max(1, min(BATCH, self._rate // 20))
        chosen = tuple((index, self._generators[index]) for index in columns)
        batches = None if self._count is None else -(-self._count // size)
        limit = None if self._rate is None else RateLimiterStrategy.per_second(self._rate / size)
        return DataGeneratorSource(Batches(chosen, size, self._count, self._seed), batches, limit, at_once=AT_ONCE)


class DatagenFactory(TableFactory):
    """``'number-of-rows'``: without it, and without a sequence, there is no end. ``'rows-per-second'``: 10,000 unless
    it is set, in streaming. ``'seed'``: makes the rows the same in every run. ``'fields.<name>.<option>'``: kind
    ('random', 'sequence'), min, max, start, end, length, null-rate, max-past, var-len."""

    identifier = "datagen"
    optional = ("number-of-rows", "rows-per-second", "seed", "fields.", "scan.parallelism")

    def source(self, table: TableContext) -> TableSource:
        check_readable(table)
        names = [column.name for column in table.columns]
        fields: dict[str, dict[str, str]] = {}
        for key, value in table.options.items():
            if key.startswith("fields."):
                name, _, option = key.removeprefix("fields.").partition(".")
                if name not in names:
                    raise ValueError(
                        f"table {table.summary}: '{key}' names no column; the columns are {', '.join(names)}"
                    )
                fields.setdefault(name, {})[option] = value
        generators = [
            generator(column.type, fields.get(column.name, {}), f"table {table.summary}, column '{column.name}'")
            for column in table.columns
        ]
        lengths = [each.length for each in generators if isinstance(each, SequenceGenerator)]
        if "number-of-rows" in table.options:
            lengths.append(_number(table, "number-of-rows", 0))
        rate = _number(table, "rows-per-second", DEFAULT_RATE) if table.streaming else None
        seed = _number(table, "seed", secrets.randbits(63))
        return DatagenSource(generators, min(lengths) if lengths else None, rate, seed)


def _number(table: TableContext, option: str, default: int) -> int:
    given = table.options.get(option)
    if given is None:
        return default
    if not given.isdigit():
        raise ValueError(f"table {table.summary}: '{option}' is a whole number, not '{given}'")
    try:
        return whole_number(option, given)
    except ValueError as error:
        raise ValueError(f"table {table.summary}: '{option}': {error}") from None
