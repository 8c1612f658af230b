"""OVER windows ordered by a time attribute: aggregates over the rows up to each row.

In event time rows wait for the watermark, and are then processed in the order of time, all partitions at once; in
processing time they are processed as they arrive.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from millrace.relational.nodes import Schema
from millrace.relational.rex import AggCall, Frame, Ref, Rex, SortKey, rex_text
from millrace.relational.rows import Rows
from millrace.relational.type_table import arrow_type
from millrace.runtime.state.restoring.saved import KeyedPieces
from millrace.runtime.tables.aggregates.aggregating import Described
from millrace.runtime.tables.base import INPUT, KeyedTableOperator, TableConfig
from millrace.runtime.tables.columns.keys import Ids, Key, group
from millrace.runtime.tables.event_time import drop_late, millis, row_buffer, take_due
from millrace.runtime.tables.over.over_calls import FoldingCall, KeepingCall, OverCall, kept_inputs, over_call, seen_by
from millrace.runtime.tables.over.over_frames import Line
from millrace.runtime.tables.over.retained_columns import KEPT, KeptRows, KeptTable
from millrace.runtime.tables.over.retained_rows import Need, Partitions
from millrace.runtime.tables.stored_calls import StoredCalls
from millrace.runtime.tables.stored_rows import NUMBERED, WAITING, StoredRows

WAIT, ACCUMULATORS = "rows", "accumulators"
"""names of the states with waiting rows, and with the accumulators of calls that fold"""
_EVER = 2**62
"""a time later than any row's (ms), and far from an overflow"""


@dataclass(frozen=True, kw_only=True)
class Over(TableConfig):
    """The description of an ``Over`` node."""

    input: Schema
    partition: tuple[int, ...]
    order: tuple[SortKey, ...]
    calls: tuple[tuple[AggCall, Frame], ...]
    event_time: bool
    """whether the order column is an event-time attribute; else it is a processing-time attribute"""

    @property
    def time(self) -> int:
        """Index of the column by which the rows are ordered.

        :raises NotImplementedError: it is not a time attribute, or not ascending.
        """
        first = self.order[0] if len(self.order) == 1 else None
        if first is None or first.descending or not isinstance(first.expression, Ref):
            raise NotImplementedError(
                "an OVER window of a stream is ordered by one time attribute, ascending: ORDER BY rowtime"
            )
        return first.expression.index

    def operator(self) -> OverOperator:
        return OverOperator(self)

    def stored(self) -> tuple[StoredCalls, tuple[Any, ...]] | None:
        if not self.meaning:
            return None
        calls = [over_call(call, frame, Described()) for call, frame in self.calls]
        groups = tuple(part for part in self.meaning if not part.startswith((INPUT, *self.call_texts)))
        keys = tuple(str(self.input[column].type.nullable()) for column in self.partition)
        stored = tuple(each.stored(text, place) for place, (each, text) in enumerate(zip(calls, self.call_texts)))
        rows = [self.rows_in(WAIT, WAITING, 0, [each.type for each in self.input])] if self.event_time else []
        kept = self._kept_by(calls)
        if kept:
            named = tuple(replace(each, name=name) for each, name in zip(self.input, self.input_columns[0]))
            texts = tuple(rex_text(each, named) for each in kept)
            types = tuple(str(each.type.nullable()) for each in kept)
            what = "the rows that were stored for its frames"
            rows.append(StoredRows(KEPT, NUMBERED, what, ("the time", *texts), ("BIGINT", *types)))
        zeros = tuple(each.zero for each in calls if isinstance(each, FoldingCall))
        names = tuple(self.input[column].name for column in self.partition)
        return StoredCalls(ACCUMULATORS, groups, keys, stored, first=0, rows=tuple(rows), key_names=names), zeros

    @staticmethod
    def _kept_by(calls: Sequence[OverCall]) -> list[Rex]:
        return kept_inputs([call for call in calls if isinstance(call, KeepingCall)])


class OverOperator(KeyedTableOperator[Over]):
    def setup(self, context: Any, output: Any) -> None:
        super().setup(context, output)
        config = self.config
        self._time = config.time
        self._calls = [over_call(call, frame, self.functions) for call, frame in config.calls]
        self._folding = [call for call in self._calls if isinstance(call, FoldingCall)]
        self._keeping = [call for call in self._calls if isinstance(call, KeepingCall)]
        types = [arrow_type(column.type) for column in config.input]
        self._waiting = row_buffer(self.backend, WAIT, types, config.partition)
        self._accumulators = self.keyed_value(ACCUMULATORS)
        """key -> one accumulator for each call that folds"""
        self._seen = {id(call): self.keyed_map(seen_by(place)) for place, call in enumerate(self._calls)}
        """id of a DISTINCT call that folds -> state with the arguments it has seen"""
        self._kept = kept_inputs(self._keeping)
        kept_types = [arrow_type(each.type) for each in self._kept]
        need = Need(
            rows=max((call.rows_kept for call in self._keeping), default=0),
            span=max((call.span_kept for call in self._keeping), default=-1),
            everything=any(call.keeps_all for call in self._keeping),
        )
        bounded = config.event_time and not self._folding and all(frame.preceding for _, frame in config.calls)
        self._bounded = bounded and not need.everything
        """whether state contains the last row of each partition and everything that a following row can see"""
        key_types = [types[index] for index in config.partition]
        self._rows = KeptRows(need, self.backend.use(KEPT, KeptTable(key_types, kept_types, self.expiry())))

    def open(self) -> None:
        super().open()
        self._rows.restored()
        self.late = self.context.runtime.get_metrics_group().counter("numLateRecordsDropped")

    def take_over_keyed(self, pieces: KeyedPieces) -> None:
        super().take_over_keyed(pieces)
        self._rows.restored()

    def receive(self, rows: Rows, input: int) -> None:
        if not self.config.event_time:
            now = self.context.clock()
            self._rows.forget_idle(now)
            self._work_off(rows, np.full(len(rows), now, np.int64), now)
            return
        times = millis(rows.batch.column(self._time))
        if self._bounded:
            self._waiting.add(*self._behind_their_own(rows, times))
        else:
            self._waiting.add(*drop_late(self, rows, times, self.watermark))

    def _behind_their_own(self, rows: Rows, times: Ids) -> tuple[Rows, Ids]:
        """As in Flink, a row with a bounded frame is late only if a later row of its partition was processed; else
        everything that it sees is still there."""
        late = times <= self.watermark
        if not late.any():
            return rows, times
        doubtful = rows.where(late)
        keys = Partitions.of([doubtful.columns[index] for index in self.config.partition], len(doubtful))
        late[late] = times[late] <= self._rows.newest(keys)[keys.ids]
        self.late.inc(int(late.sum()))
        return rows.where(~late), times[~late]

    def advance(self, watermark: int) -> None:
        due = take_due(self._waiting, watermark)
        if due is not None:
            self._work_off(*due, min(watermark, _EVER) + 1)
        if self.config.event_time:
            self._rows.forget_idle(min(watermark, _EVER) + 1)

    def advance_processing_time(self, now: int) -> None:
        if not self.config.event_time:
            self._rows.forget_idle(now)

    # -- the rows of a batch --------------------------------------------------------------------------------------

    def _work_off(self, rows: Rows, times: Ids, following: int) -> None:
        """Emit these rows with their results, in order. Later rows have no time before ``following`` (ms)."""
        columns = rows.columns
        keys = Partitions.of([columns[index] for index in self.config.partition], len(rows))
        order = np.argsort(keys.ids, kind="stable")
        partitions, sorted_times = keys.ids[order], times[order]
        evaluator = self.evaluator(columns, len(rows))
        where = pa.array(order)

        def values(expressions: Iterable[Rex]) -> list[pa.Array]:
            return [evaluator.column(each).take(where) for each in expressions]

        line = Line(partitions, sorted_times, np.arange(len(rows)), self.config.event_time)
        found: dict[int, pa.Array] = self._fold(line, keys, values)
        if self._keeping:
            found |= self._keep(line, keys, values(self._kept), following)
        back = np.empty(len(rows), np.int64)
        back[order] = np.arange(len(rows))
        results = [found[id(call)].take(pa.array(back)) for call in self._calls]
        self.emit_rows(rows.with_columns([*columns, *results]))

    def _fold(self, line: Line, partitions: Partitions, values: Any) -> dict[int, pa.Array]:
        if not self._folding:
            return {}
        keys = partitions.keys
        zeros = tuple(call.zero for call in self._folding)
        old = [self._accumulators.get(key) or zeros for key in keys]
        found, after = {}, []
        for number, call in enumerate(self._folding):
            columns = values(call.inputs)
            args, counts = call.split(columns, len(line.partitions))
            if call.call.distinct:
                counts = self._first_seen(call, line, keys, args, counts)
            accumulators, found[id(call)] = call.fold(line, args, counts, [each[number] for each in old])
            after.append(accumulators)
        for key, accumulator in zip(keys, zip(*after)):
            self._accumulators.put(key, accumulator)
        return found

    def _first_seen(self, call: OverCall, line: Line, keys: list[Key], args: Sequence[pa.Array], counts: Any) -> Any:
        """For each row that counts, whether it is the first of its partition with these arguments (numpy Booleans)."""
        places = np.flatnonzero(counts)
        taken = [arg.take(pa.array(places)) for arg in args]
        grouped = group([pa.array(line.partitions[places]), *taken], len(places))
        seen, first = self._seen[id(call)], np.zeros(len(counts), bool)
        for place, (partition, *arguments) in zip(places[grouped.first].tolist(), grouped.keys):
            key, known = keys[partition], tuple(arguments)
            if seen.get(key, known) is None:
                seen.put(key, known, True)
                first[place] = True
        return first

    # -- rows that are kept ---------------------------------------------------------------------------------------

    def _keep(self, new: Line, keys: Partitions, columns: list[pa.Array], following: int) -> dict[int, pa.Array]:
        """The results of the calls that see rows. Afterwards the state contains the rows that later rows need."""
        history = self._rows.find(keys)
        count = len(history.owners)
        both = [pa.concat_arrays([old, each]) for old, each in zip(history.columns[1:], columns)]
        partitions = np.concatenate([history.owners, new.partitions])
        times = np.concatenate([history.columns[0].to_numpy(), new.times])
        order = np.argsort(partitions, kind="stable")  # what is known is before what is new
        position = np.empty(len(order), np.int64)
        position[order] = np.arange(len(order))
        line = Line(partitions[order], times[order], position[count:], new.peers)
        both = [column.take(pa.array(order)) for column in both]
        found = {}
        for call in self._keeping:
            found[id(call)] = call.compute(line, [both[self._kept.index(each)] for each in call.inputs])
        needed = self._rows.need.of(line, None if self._bounded else following)[position]
        fresh = needed[count:]
        where = pa.array(np.flatnonzero(fresh))
        come = [pa.array(new.times[fresh]), *(column.take(where) for column in columns)]
        self._rows.change(keys, history, ~needed[:count], new.partitions[fresh], come)
        return found
