"""Top-N: the first-ranked rows of each partition.

What has to be stored depends on the input. With insertions only, rows that rank too low are never needed again. If rows
can be retracted, all have to be stored: by their whole content, or by a key that each change contains.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from millrace.relational.rex import SortKey, refs
from millrace.relational.rows import DELETE, INSERT, Rows, record_batch
from millrace.relational.type_table import arrow_type
from millrace.relational.types import BigIntType, DataType
from millrace.runtime.tables.base import KeyedTableOperator, TableConfig
from millrace.runtime.tables.batch_buffer import WaitingRows
from millrace.runtime.tables.columns.changes import row_changes
from millrace.runtime.tables.columns.keys import Ids, Key, group_ids, key_tuples
from millrace.runtime.tables.columns.ranking import ROW_NUMBER, ranked
from millrace.runtime.tables.columns.row_codec import Row, RowCodec
from millrace.runtime.tables.ordered_rows import PLACES, PlacedRows
from millrace.runtime.tables.ordering.first_rows import FirstOfKey, FirstRows
from millrace.runtime.tables.stored_calls import StoredCalls
from millrace.runtime.tables.stored_rows import PLACED, PLACED_BY_KEY, RANKED

TOP = "top"
"""name of the state"""
Ranked = tuple[Row, int]
"""(row, rank)"""


@dataclass(frozen=True, kw_only=True)
class TopRows(TableConfig):
    """The description that Top-N operators share: which rows are wanted."""

    function: str = ROW_NUMBER
    """ROW_NUMBER, RANK or DENSE_RANK"""
    partition: tuple[int, ...]
    order: tuple[SortKey, ...]
    types: tuple[DataType, ...]
    """types of all columns of the input"""
    first: int = 1
    last: int
    number: bool = False
    """whether the rank is the last column of the result (BIGINT)"""

    @property
    def result_types(self) -> list[pa.DataType]:
        found = [arrow_type(each) for each in self.types]
        return [*found, arrow_type(BigIntType())] if self.number else found


@dataclass(frozen=True, kw_only=True)
class Rank(TopRows):
    """Rows that are equal in the order rank in the order of arrival. A slice emits the difference between the old and
    the new result."""

    retracts: bool = False
    """whether the input contains changes other than insertions"""
    unique: tuple[int, ...] | None = None
    """columns that identify a row of a partition, if changes are upserts by them, without old rows"""
    compared: tuple[int, ...] | None = None
    """columns in which equal rows agree, where ``unique`` is None; None: all"""
    before: bool = True
    """whether the consumer needs the old row of an update (-U); there are updates only with ``number``"""

    def operator(self) -> RankBase:
        return RankOperator(self) if self.keeps_all else AppendOnlyRankOperator(self)

    @property
    def keeps_all(self) -> bool:
        """Whether rows that are not among the first are stored, too."""
        return self.retracts or self.unique is not None

    def stored(self) -> tuple[StoredCalls, tuple[Any, ...]] | None:
        if not self.keeps_all:
            return self.only_rows(self.rows_in(TOP, RANKED, 0, self.types))
        names = self.compared if self.unique is None else self.unique
        form = PLACED if self.unique is None else PLACED_BY_KEY
        return self.only_rows(self.rows_in(PLACES, form, 0, self.types, names))


class TopRowsOperator(KeyedTableOperator[TopRows]):
    """Computes the first-ranked rows of many partitions."""

    def setup(self, context: Any, output: Any) -> None:
        super().setup(context, output)
        self.codec = RowCodec([arrow_type(each) for each in self.config.types])
        self.result_codec = RowCodec(self.config.result_types)

    def top(self, groups: Sequence[Sequence[Row]]) -> list[list[Ranked]]:
        """The rows of each group with ranks from 1 to ``last``, in order; the rows of a group must be in the order of
        arrival."""
        config = self.config
        rows = [row for group in groups for row in group]
        owners = np.repeat(np.arange(len(groups)), [len(group) for group in groups])
        evaluator = self.evaluator(self._order_columns(rows), len(rows))
        order, ranks = ranked(owners, config.order, evaluator, config.function)
        wanted = ranks <= config.last
        found: list[list[Ranked]] = [[] for _ in groups]
        for owner, place, rank in zip(owners[order][wanted].tolist(), order[wanted].tolist(), ranks[wanted].tolist()):
            found[owner].append((rows[place], rank))
        return found

    @property
    def order_places(self) -> list[int]:
        """The indexes of the columns that the order reads."""
        return sorted({index for key in self.config.order for index in refs(key.expression)})

    def _order_columns(self, rows: Sequence[Row]) -> list[pa.Array]:
        """The columns of these rows that the order reads; None for the others."""
        places = self.order_places
        found = RowCodec([self.codec.types[place] for place in places]).columns(
            [tuple([row[place] for place in places]) for row in rows]
        )
        columns: list[pa.Array] = [None] * len(self.codec.types)
        for place, column in zip(places, found):
            columns[place] = column
        return columns

    def promising(self, rows: Rows) -> Rows:
        """The rows without those that rank too low within this batch of insertions."""
        if len(rows) <= self.config.last:
            return rows
        columns = rows.columns
        evaluator = self.evaluator(columns, len(rows))
        owners = self.owners(rows)
        order, ranks = ranked(owners, self.config.order, evaluator, self.config.function)
        return rows.take(np.sort(order[ranks <= self.config.last]))

    def owners(self, rows: Rows) -> Any:
        """The number of each row's partition."""
        columns = rows.columns
        return group_ids([columns[index] for index in self.config.partition], len(rows))[0]

    def by_key(self, rows: Rows) -> dict[Key, list[Row]]:
        """The rows of each partition in the order of their arrival."""
        columns = rows.columns
        keys = key_tuples([columns[index] for index in self.config.partition], len(rows))
        found: dict[Key, list[Row]] = {}
        for key, row in zip(keys, self.codec.rows(columns, len(rows))):
            found.setdefault(key, []).append(row)
        return found

    def results(self, top: Sequence[Ranked]) -> list[Row]:
        """The output rows."""
        config = self.config
        wanted = (each for each in top if each[1] >= config.first)
        return [(*row, rank) for row, rank in wanted] if config.number else [row for row, _ in wanted]


class RankBase(TopRowsOperator):
    """Emits the difference between the old and the new results of the keys changed in a slice."""

    config: Rank

    def setup(self, context: Any, output: Any) -> None:
        super().setup(context, output)
        self._touched: dict[Key, list[Row]] = {}
        """keys changed in this slice -> their results before it"""

    def now(self, keys: Sequence[Key]) -> list[list[Ranked]]:
        """The present first rows of these partitions."""
        raise NotImplementedError

    def flush(self) -> None:
        if not self._touched:
            return
        touched, self._touched = self._touched, {}
        keys = list(touched)
        new = [self.results(top) for top in self.now(keys)]
        if self.config.number and self.config.function == ROW_NUMBER:
            self._emit_by_place(list(touched.values()), new)
        else:
            self._emit_difference(list(touched.values()), new)

    def _emit_by_place(self, old: Sequence[list[Row]], new: Sequence[list[Row]]) -> None:
        """Emit changes where each rank belongs to one row, which may have been replaced."""
        before: list[Row | None] = []
        after: list[Row | None] = []
        for was, now in zip(old, new):
            length = max(len(was), len(now))
            before += [*was, *[None] * (length - len(was))]
            after += [*now, *[None] * (length - len(now))]
        self.emit_rows(row_changes(self.result_codec, before, after, self.config.before))

    def _emit_difference(self, old: Sequence[list[Row]], new: Sequence[list[Row]]) -> None:
        gone: list[Row] = []
        come: list[Row] = []
        for was, now in zip(old, new):
            gone += (Counter(was) - Counter(now)).elements()
            come += (Counter(now) - Counter(was)).elements()
        kinds = np.repeat(np.array([DELETE, INSERT], np.uint8), [len(gone), len(come)])
        columns = self.result_codec.columns([*gone, *come])
        self.emit_rows(Rows(record_batch(columns, len(kinds)), kinds if gone else None))


class AppendOnlyRankOperator(RankBase):
    """State: the first-ranked rows of each partition, in columns if state is in memory."""

    def setup(self, context: Any, output: Any) -> None:
        super().setup(context, output)
        self._columns: FirstRows | None = None
        self._waiting = WaitingRows()
        if self.backend.in_memory and not self.config.state_ttl:
            self._columns = self._in_columns()
        else:
            self._state = self.keyed_value(TOP)

    def _in_columns(self) -> FirstRows:
        config = self.config
        table = self.backend.use(TOP, FirstOfKey(self.codec.types, config.partition, self._rank, self.order_places))
        by_place = config.function == ROW_NUMBER
        wanted = (config.first, config.last)
        return FirstRows(table, config.partition, self._rank, wanted, config.number, by_place)

    def _rank(self, owners: Ids, columns: Sequence[pa.Array]) -> tuple[Ids, Ids]:
        return ranked(owners, self.config.order, self.evaluator(columns, len(owners)), self.config.function)

    def receive(self, rows: Rows, input: int) -> None:
        if self._columns is None:
            self._receive(self.promising(rows))
            return
        self._update(self._waiting.add(rows))
        if self._columns.table.crowded:
            self.flush()

    def _update(self, rows: Rows | None) -> None:
        if rows is not None and self._columns is not None:
            self._columns.update(self.promising(rows))

    def _receive(self, rows: Rows) -> None:
        new = self.by_key(rows)
        known = [self._state.get(key) or () for key in new]
        # Stored rows are in the order of arrival where it matters: among rows that are equal in the order.
        tops = self.top([[*(row for row, _ in old), *rows] for old, rows in zip(known, new.values())])
        for key, old, top in zip(new, known, tops):
            if tuple(top) != old:
                if key not in self._touched:
                    self._touched[key] = self.results(old)
                self._state.put(key, tuple(top))

    def now(self, keys: Sequence[Key]) -> list[list[Ranked]]:
        return [self._state.get(key) or [] for key in keys]

    def flush(self) -> None:
        if self._columns is None:
            super().flush()
            return
        self._update(self._waiting.take())
        for changed in self._columns.changes(self.config.before):
            self.emit_rows(changed)


class RankOperator(RankBase):
    def setup(self, context: Any, output: Any) -> None:
        super().setup(context, output)
        self._rows = PlacedRows(self, self.codec, self.config.unique, self.config.compared)

    def receive(self, rows: Rows, input: int) -> None:
        keys = key_tuples([rows.batch.column(index) for index in self.config.partition], len(rows))
        self._touch(keys)
        self._rows.update(keys, rows)

    def _touch(self, keys: Sequence[Key]) -> None:
        fresh = [key for key in dict.fromkeys(keys) if key not in self._touched]
        for key, top in zip(fresh, self.now(fresh)):
            self._touched[key] = self.results(top)

    def now(self, keys: Sequence[Key]) -> list[list[Ranked]]:
        return self.top([self._rows.in_order(key) for key in keys])

    def flush(self) -> None:
        for key in self._touched:
            self._rows.forget_empty(key)
        super().flush()
