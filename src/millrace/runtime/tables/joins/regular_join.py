"""A regular join: every change of one side is joined with the whole present content of the other side.

The changes of a batch are not joined with each other, only with the stored rows of the other side. So all pairs of a
batch are found, checked and emitted at once. Only whether a row of the other side had partners before depends on the
order within the batch; that is a running sum.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from millrace.relational.rex import refs
from millrace.relational.rows import DELETE, INSERT, Kinds, Rows
from millrace.runtime.tables.base import KeyedTableOperator
from millrace.runtime.tables.columns.keys import Ids, group_ids, taken
from millrace.runtime.tables.columns.matching import has_null, running, take_or_null
from millrace.runtime.tables.columns.ranges import ranges
from millrace.runtime.tables.counted_rows import CountedRows
from millrace.runtime.tables.joins.inserted_rows import IndexedRows
from millrace.runtime.tables.joins.join_config import JoinConfig, always, holds
from millrace.runtime.tables.joins.join_state import AddedSide, BatchKeys, ChangingSide, Held
from millrace.runtime.tables.stored_calls import StoredCalls
from millrace.runtime.tables.stored_rows import SIDE

Taking = Callable[[Ids], list[pa.Array]]
"""gives the columns of the rows at some positions"""
LEFT, RIGHT = "left", "right"
"""names of the states"""
MOST_PAIRS = 250_000
"""A batch with more pairs is processed in parts."""
_BEFORE, _PAIRS, _AFTER = range(3)
"""the phases of an input row's output, in this order"""


@dataclass(frozen=True, kw_only=True)
class RegularJoin(JoinConfig):
    """The description of a ``Join`` node."""

    null_aware: bool = False
    """whether this is an ANTI join for NOT IN: a left row remains if the condition is FALSE with every right row. NULLs
    in a key match all keys, so both inputs go to one subtask"""
    left_unique: tuple[int, ...] | None = None
    """columns of the left input that identify its rows"""
    right_unique: tuple[int, ...] | None = None
    left_append_only: bool = False
    """whether the left input has insertions only"""
    right_append_only: bool = False
    left_ttl: int | None = None
    """time to live of the left side's state in ms, from the STATE_TTL hint; None: ``state_ttl``"""
    right_ttl: int | None = None

    def operator(self) -> RegularJoinOperator:
        return RegularJoinOperator(self)

    @property
    def counts(self) -> tuple[bool, bool]:
        """For each side, whether it stores the number of partners of its rows."""
        return self.keeps_left or self.only_left, self.keeps_right

    def only_added(self, input: int) -> bool:
        """Whether the rows of a side never change."""
        added = (self.left_append_only, self.right_append_only)[input]
        return added and not self.counts[input] and not self.null_aware

    def unique(self, input: int) -> tuple[int, ...] | None:
        """Columns by which a side identifies its rows; a side in columns has the same on disk and in a savepoint."""
        return None if self.only_added(input) else (self.left_unique, self.right_unique)[input]

    def stored(self) -> tuple[StoredCalls, tuple[Any, ...]] | None:
        sides = enumerate(zip((LEFT, RIGHT), self.counts))
        return self.only_rows(
            *(
                replace(self.side_in(input, name, SIDE, self.unique(input)), counts=counts)
                for input, (name, counts) in sides
            )
        )


@dataclass
class _Part:
    """Some output rows: positions in the left and in the right columns (-1: NULLs)."""

    order: Ids
    """the input row that each output row belongs to"""
    phase: int
    left: Ids
    right: Ids
    kinds: Kinds


class RegularJoinOperator(KeyedTableOperator[RegularJoin]):
    def setup(self, context: Any, output: Any) -> None:
        super().setup(context, output)
        config = self.config
        self._keys = (config.equal.left, config.equal.right)
        self._rest = config.condition if config.null_aware else config.equal.rest
        read, width = refs(self._rest), len(config.left)
        self._never_safe = [False] * len(config.equal.left)
        self._widths = (width, len(config.right))
        self._read = ({index for index in read if index < width}, {index - width for index in read if index >= width})
        self._sides = (self._side(0, config.left_types), self._side(1, config.right_types))

    def _side(self, input: int, types: Sequence[pa.DataType]) -> ChangingSide | AddedSide:
        config, name = self.config, (LEFT, RIGHT)[input]
        ttl = (config.left_ttl, config.right_ttl)[input]
        if config.only_added(input):
            return AddedSide(self.backend.use(name, IndexedRows(types, self._keys[input], self.expiry(ttl))))
        unique, counts = config.unique(input), config.counts[input]
        marks = (unique is None) + counts
        rows = CountedRows(types, self._keys[input], unique, marks, self.expiry(ttl))
        return ChangingSide(self.backend.use(name, rows), counts, unique is not None)

    def receive(self, rows: Rows, input: int) -> None:
        for side in self._sides:
            side.settle()
        columns = rows.columns[: self._widths[input]]  # rows without columns travel with one that stands for them
        keys = [columns[index] for index in self._keys[input]]
        ids, first = group_ids(keys, len(rows))
        nowhere = has_null(keys, len(rows), self.config.equal.null_safe) & (not self.config.null_aware)
        of_batch = BatchKeys(ids, taken(keys, first, len(rows)), len(first), nowhere[first])
        held, at, to = self._candidates(of_batch, 1 - input)
        if len(at) > MOST_PAIRS and len(rows) > 1:
            half = len(rows) // 2
            self.receive(rows.take(np.arange(half)), input)
            self.receive(rows.take(np.arange(half, len(rows))), input)
            return
        if len(at) and not always(self._rest):
            others = held.columns(self._read[1 - input])
            where = (columns, others, at, to) if input == 0 else (others, columns, to, at)
            matches = holds(self, self._rest, *where, unknown=self.config.null_aware)
            at, to = at[matches], to[matches]
        partners = np.bincount(at, held.copies[to], len(rows)).astype(np.int64)
        self._sides[input].keep(of_batch, rows, partners)
        if self.config.only_left:
            parts = self._filtered(rows, partners, at, to, held, input)
        else:
            parts = self._joined(rows, partners, at, to, held, input)
        sides = (partial(_taken, columns), held.taken)
        self._emit(parts, *(sides if input == 0 else sides[::-1]))

    # -- which rows meet ------------------------------------------------------------------------------------------

    def _candidates(self, keys: BatchKeys, other: int) -> tuple[Held, Ids, Ids]:
        """The stored rows of the other side for the batch, and the pairs (row of the batch, stored row) that may match,
        in the order of the batch."""
        if self.config.null_aware:
            return self._with_nulls(keys, other)
        held = self._sides[other].held(keys)
        return held, *ranges(held.starts[keys.ids], held.sizes[keys.ids])

    def _with_nulls(self, keys: BatchKeys, other: int) -> tuple[Held, Ids, Ids]:
        """As ``_candidates``, for keys in which NULLs match everything."""
        side = self._sides[other]
        assert isinstance(side, ChangingSide)
        rows = side.rows
        numbers = rows.everything()
        held = Held(side, np.zeros(len(numbers), np.int64), numbers, 1)
        nulls = np.flatnonzero(has_null(rows.take(numbers, self._keys[other]), len(numbers), self._never_safe))
        owners, found = rows.of_keys(keys.hashes, keys.columns_at)
        unknown = has_null(keys.columns, keys.count, self._never_safe)
        known = ~unknown[owners]
        # Rows of the same key, rows with a NULL, and for a key with a NULL all rows.
        pairs = [
            (owners[known], np.searchsorted(numbers, found[known])),
            _product(np.flatnonzero(~unknown), nulls),
            _product(np.flatnonzero(unknown), np.arange(len(numbers))),
        ]
        key, to = (np.concatenate(each) for each in zip(*pairs))
        order = np.lexsort((to, key))
        sizes = np.bincount(key, minlength=keys.count)
        row, place = ranges((np.cumsum(sizes) - sizes)[keys.ids], sizes[keys.ids])
        return held, row, to[order][place]

    # -- what comes of it -----------------------------------------------------------------------------------------

    def _joined(self, rows: Rows, partners: Ids, at: Ids, to: Ids, held: Held, input: int) -> list[_Part]:
        keeps = (self.config.keeps_left, self.config.keeps_right)
        mine, theirs = keeps if input == 0 else keeps[::-1]
        adds, kinds = rows.adds(), rows.kind_values()
        copies = held.copies[to]
        pair, other = np.repeat(at, copies), np.repeat(to, copies)
        # If an unmatched row is emitted with NULLs, an update may not be one any more, so its rows are emitted as
        # insertion and deletion.
        plain = np.where(adds, INSERT, DELETE).astype(np.uint8)
        of_pairs = plain if mine else np.where(adds, INSERT, kinds) if theirs else kinds
        parts = [self._part(_PAIRS, pair, pair, other, of_pairs[pair].astype(np.uint8), input)]
        if mine:
            alone = np.flatnonzero(partners == 0)
            parts.append(self._part(_PAIRS, alone, alone, np.full(len(alone), -1), plain[alone], input))
        if theirs:
            first, last = self._turns(adds, at, to, held)
            parts.append(self._alone(_BEFORE, at[first], to[first], DELETE, held, input))
            parts.append(self._alone(_AFTER, at[last], to[last], INSERT, held, input))
        return parts

    def _filtered(self, rows: Rows, partners: Ids, at: Ids, to: Ids, held: Held, input: int) -> list[_Part]:
        """The output of a SEMI or ANTI join."""
        anti, kinds = self.config.kind == "ANTI", rows.kind_values()
        if input == 0:
            chosen = np.flatnonzero((partners == 0) == anti)
            return [self._part(_PAIRS, chosen, chosen, chosen, kinds[chosen], 0)]
        first, last = self._turns(rows.adds(), at, to, held)
        turned = np.flatnonzero(first | last)
        order, left = at[turned], to[turned]
        changes = np.where(first[turned], DELETE, INSERT) if anti else kinds[order]
        copies = held.copies[left]
        order, left = np.repeat(order, copies), np.repeat(left, copies)
        return [self._part(_PAIRS, order, order, left, np.repeat(changes, copies).astype(np.uint8), 1)]

    def _turns(self, adds: Any, at: Ids, to: Ids, held: Held) -> tuple[Any, Any]:
        """For each pair, whether it gave the stored row its first partner, and whether it removed the last one."""
        changes = np.where(adds[at], 1, -1)
        before, touched, sums = running(to, changes)
        before = held.partners[to] + before
        held.set_partners(touched, np.maximum(held.partners[touched] + sums, 0))
        return (changes > 0) & (before <= 0), (changes < 0) & (before == 1)

    def _alone(self, phase: int, order: Ids, other: Ids, kind: int, held: Held, input: int) -> _Part:
        """Stored rows with NULLs in place of a partner."""
        copies = held.copies[other]
        order, other = np.repeat(order, copies), np.repeat(other, copies)
        return self._part(phase, order, np.full(len(other), -1), other, np.full(len(other), kind, np.uint8), input)

    def _part(self, phase: int, order: Ids, mine: Ids, other: Ids, kinds: Kinds, input: int) -> _Part:
        return _Part(order, phase, mine, other, kinds) if input == 0 else _Part(order, phase, other, mine, kinds)

    def _emit(self, parts: list[_Part], left: Taking, right: Taking) -> None:
        parts = [part for part in parts if len(part.order)]
        if not parts:
            return
        left_at, right_at, kinds = _in_order(parts)
        columns = left(left_at) if self.config.only_left else [*left(left_at), *right(right_at)]
        self.emit_columns(columns, len(kinds), kinds if kinds.any() else None)


def _product(one: Ids, other: Ids) -> tuple[Ids, Ids]:
    """All pairs."""
    return np.repeat(one, len(other)), np.tile(other, len(one))


def _in_order(parts: Sequence[_Part]) -> tuple[Ids, Ids, Kinds]:
    """The output rows of all parts, ordered by input row and phase: their positions on both sides, and their kinds."""
    if len(parts) == 1:  # which is in order
        return parts[0].left, parts[0].right, parts[0].kinds
    phases = np.concatenate([np.full(len(part.order), part.phase) for part in parts])
    order = np.lexsort((phases, np.concatenate([part.order for part in parts])))
    left, right = (np.concatenate([getattr(part, side) for part in parts])[order] for side in ("left", "right"))
    return left, right, np.concatenate([part.kinds for part in parts])[order]


def _taken(columns: Sequence[pa.Array], positions: Ids) -> list[pa.Array]:
    """The columns of the rows at these positions, NULLs for negative ones."""
    return [take_or_null(column, positions) for column in columns]
