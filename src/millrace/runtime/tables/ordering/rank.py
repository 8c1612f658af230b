"""Top-N: the first-ranked rows of each partition.

What has to be stored depends on the input. With insertions only, rows that rank too low are never needed again. If rows
can be retracted, all have to be stored: by their whole content, or by a key that each change contains.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from millrace.relational.rex import SortKey, refs
from millrace.relational.rows import Rows
from millrace.relational.type_table import arrow_type
from millrace.relational.types import BigIntType, DataType
from millrace.runtime.tables.base import KeyedTableOperator, TableConfig
from millrace.runtime.tables.batch_buffer import WaitingRows
from millrace.runtime.tables.columns.keys import Ids, Key, at_indexes, group_ids, key_tuples
from millrace.runtime.tables.columns.ranking import ROW_NUMBER, ranked
from millrace.runtime.tables.columns.row_codec import Row, RowCodec
from millrace.runtime.tables.ordered_rows import PLACES, ArrivedRows, placed_rows
from millrace.runtime.tables.ordering.first_rows import FirstOfKey, FirstRows, RankChanges, RankedTable
from millrace.runtime.tables.stored_calls import StoredCalls
from millrace.runtime.tables.stored_rows import RANKED

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

    def operator(self) -> TopRowsOperator:
        return RankOperator(self) if self.keeps_all else AppendOnlyRankOperator(self)

    @property
    def keeps_all(self) -> bool:
        """Whether rows that are not among the first are stored, too."""
        return self.retracts or self.unique is not None

    def stored(self) -> tuple[StoredCalls, tuple[Any, ...]] | None:
        if not self.keeps_all:
            return self.only_rows(self.rows_in(TOP, RANKED, 0, self.types))
        return self.only_rows(placed_rows(self, self.types, self.unique, self.compared))


class TopRowsOperator(KeyedTableOperator[TopRows]):
    """Computes the first-ranked rows of many partitions."""

    def setup(self, context: Any, output: Any) -> None:
        super().setup(context, output)
        self.codec = RowCodec([arrow_type(each) for each in self.config.types])
        self.result_codec = RowCodec(self.config.result_types)

    def top(self, groups: Sequence[Sequence[Row]]) -> list[list[Ranked]]:
        """The rows of each group with ranks from 1 to ``last``, in order; the rows of a group must be in the order of
        arrival."""
        rows = [row for group in groups for row in group]
        owners = np.repeat(np.arange(len(groups)), [len(group) for group in groups])
        order, ranks = self.rank(owners, self._order_columns(rows))
        wanted = ranks <= self.config.last
        found: list[list[Ranked]] = [[] for _ in groups]
        for owner, place, rank in zip(owners[order][wanted].tolist(), order[wanted].tolist(), ranks[wanted].tolist()):
            found[owner].append((rows[place], rank))
        return found

    def rank(self, owners: Ids, columns: Sequence[pa.Array]) -> tuple[Ids, Ids]:
        """(row numbers by partition and order, the rank of each).

        :param owners: the partition of each row.
        :param columns: those that the order reads at their indexes.
        """
        return ranked(owners, self.config.order, self.evaluator(columns, len(owners)), self.config.function)

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
        return at_indexes(found, places, len(self.codec.types))

    def promising(self, rows: Rows) -> Rows:
        """The rows without those that rank too low within this batch of insertions."""
        if len(rows) <= self.config.last:
            return rows
        order, ranks = self.rank(self.owners(rows), rows.columns)
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


class AppendOnlyRankOperator(TopRowsOperator):
    """State: the first-ranked rows of each partition."""

    gathers_changes = True
    config: Rank

    def setup(self, context: Any, output: Any) -> None:
        super().setup(context, output)
        config = self.config
        self._waiting = WaitingRows()
        rows = FirstOfKey(self.codec.types, config.partition, self.rank, self.order_places, self.expiry())
        table = self.backend.use(TOP, rows)
        changes = rank_changes(config, table, table.ranked)
        self._rows = FirstRows(table, config.partition, self.rank, config.last, changes)

    def receive(self, rows: Rows, input: int) -> None:
        self._update(self._waiting.add(rows))
        if self._rows.table.crowded:
            self.flush()

    def _update(self, rows: Rows | None) -> None:
        if rows is not None:
            self._rows.update(self.promising(rows))

    def flush(self) -> None:
        self._update(self._waiting.take())
        for changed in self._rows.changes(self.config.before):
            self.emit_rows(changed)


class RankOperator(TopRowsOperator):
    """Stores all rows of each partition."""

    gathers_changes = True
    config: Rank

    def setup(self, context: Any, output: Any) -> None:
        super().setup(context, output)
        config = self.config
        rows = ArrivedRows(self.codec.types, config.partition, config.unique, config.compared, self.expiry())
        self._rows = self.backend.use(PLACES, rows)
        self._changes = rank_changes(config, self._rows, self._ranked)

    def _ranked(self, numbers: Ids, owners: Ids) -> tuple[Ids, Ids]:
        places = self.order_places
        return self.rank(owners, at_indexes(self._rows.take(numbers, places), places, len(self.codec.types)))

    def receive(self, rows: Rows, input: int) -> None:
        self._rows.change(rows.columns, rows.adds())
        if self._rows.crowded:
            self.flush()

    def flush(self) -> None:
        touched = self._rows.touched()
        if touched is not None:
            for changed in self._changes.between(*touched, self.config.before):
                self.emit_rows(changed)
        self._rows.settle()


def rank_changes(config: Rank, rows: RankedTable, ranked: Callable[[Ids, Ids], tuple[Ids, Ids]]) -> RankChanges:
    """The changes of the result; for the arguments see ``RankChanges``."""
    by_place = config.function == ROW_NUMBER
    return RankChanges(rows, ranked, (config.first, config.last), config.number, by_place)
