"""The operator of MATCH_RECOGNIZE: rows wait for the watermark, and are then processed in their order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from millrace.relational.nodes import ROWTIME
from millrace.relational.rows import Rows
from millrace.relational.type_table import arrow_type
from millrace.runtime.cep.backtracking import Row
from millrace.runtime.elements import MAX_WATERMARK
from millrace.runtime.tables.base import KeyedTableOperator, TableConfig
from millrace.runtime.tables.columns.keys import Ids, Key, group
from millrace.runtime.tables.columns.ranking import sort_rows
from millrace.runtime.tables.event_time import drop_late, millis, row_buffer, take_due
from millrace.runtime.tables.matching.automaton import AutomatonMachine, AutomatonStates
from millrace.runtime.tables.matching.description import Matching
from millrace.runtime.tables.matching.machine import Machine
from millrace.runtime.tables.matching.standard import StandardMachine, StandardStates
from millrace.runtime.tables.matching.states import MatchStates


@dataclass(frozen=True, kw_only=True)
class Match(TableConfig):
    """The description of a ``Match`` node."""

    matching: Matching
    event_time: bool
    """whether the column of the order is an event-time attribute; else it is a processing-time attribute"""

    def wrappers(self) -> Any:
        return self.matching.wrappers()

    def operator(self) -> MatchOperator:
        return MatchOperator(self)


class MatchOperator(KeyedTableOperator[Match]):
    def setup(self, context: Any, output: Any) -> None:
        super().setup(context, output)
        matching, node = self.config.matching, self.config.matching.node
        self._machine, self._states = self._made()
        # In processing time the first sort key is the time of arrival.
        self._order = node.order if self.config.event_time else node.order[1:]
        types = [arrow_type(column.type) for column in matching.input]
        self._waiting = row_buffer(self.backend, "rows", types, node.partition)
        times = {column.time for column in node.columns}
        self._holds = node.within or 0 if ROWTIME in times and node.standard else 0

    def _made(self) -> tuple[Machine, MatchStates]:
        # As in Flink, the state has no time to live: a part of a partition's state would be useless.
        matching = self.config.matching
        if matching.node.standard:
            standard = StandardMachine(matching, self.functions, self.evaluator)
            rows, searches = self.keyed_map("kept", 0), self.keyed_value("search", 0)
            return standard, StandardStates(standard, rows, searches, matching.node.within)
        automaton = AutomatonMachine(matching, self.functions, self.evaluator)
        return automaton, AutomatonStates(automaton, self.keyed_value("automaton", 0))

    def open(self) -> None:
        super().open()
        self.late = self.context.runtime.get_metrics_group().counter("numLateRecordsDropped")

    def passed_on(self, watermark: int) -> int:
        """The watermark, lowered by the window: a match may be decided when its time has long passed, but within the
        window."""
        return watermark if watermark == MAX_WATERMARK else watermark - self._holds

    # -- rows and time ----------------------------------------------------------------------------------------------

    def receive(self, rows: Rows, input: int) -> None:
        if self.config.event_time:
            times = millis(rows.batch.column(self.config.matching.time))
            self._waiting.add(*drop_late(self, rows, times, self.watermark))
            return
        now = self.context.clock()
        times = np.full(len(rows), now, np.int64)
        if self._order:
            self._waiting.add(rows, times)
        else:
            self._work_off(rows, times, now)
            self._emit()

    def advance(self, watermark: int) -> None:
        if self.config.event_time:
            self._release(watermark, min(watermark + 1, MAX_WATERMARK))
        elif watermark == MAX_WATERMARK:
            self._release(MAX_WATERMARK, MAX_WATERMARK)
        ended = watermark == MAX_WATERMARK
        while (due := self.backend.event_timers.pop_due(watermark)) is not None:
            self._search(due[1], [], min(watermark + 1, MAX_WATERMARK) if self.config.event_time else None, ended)
        self._emit()

    def advance_processing_time(self, now: int) -> None:
        if self.config.event_time:
            return
        self._release(now - 1, now)
        while (due := self.backend.processing_timers.pop_due(now)) is not None:
            self._search(due[1], [], now, False)
        self._emit()

    def _release(self, until: int, horizon: int) -> None:
        """Process the rows that waited. Later rows have no time before ``horizon`` (ms)."""
        due = take_due(self._waiting, until)
        if due is None:
            return
        rows, times = due
        if len(self._order) > 1 or not self.config.event_time:
            evaluator = self.evaluator(rows.columns, len(rows))
            values = [evaluator.column(key.expression) for key in self._order]
            order = sort_rows(times, values, self._order)
            rows, times = rows.take(order), times[order]
        self._work_off(rows, times, horizon)

    def _work_off(self, rows: Rows, times: Ids, horizon: int) -> None:
        columns = rows.columns
        kept = self._machine.rows(columns, times)
        grouped = group([columns[index] for index in self.config.matching.node.partition], len(rows))
        new: list[list[Row]] = [[] for _ in grouped.keys]
        for id, row in zip(grouped.ids.tolist(), kept):
            new[id].append(row)
        for key, each in zip(grouped.keys, new):
            self._search(key, each, horizon, False)

    def _emit(self) -> None:
        columns, length = self._machine.output.take()
        if length:
            self.emit_columns(columns, length)

    # -- one partition ----------------------------------------------------------------------------------------------

    def _search(self, key: Key, new: Sequence[Row], horizon: int | None, ended: bool) -> None:
        """Search for matches of a key, and plan the next search for when time decides something, at the latest at the
        end of the input."""
        due = self._states.search(key, new, horizon, ended)
        events = self.backend.event_timers
        if due is None:
            events.delete(MAX_WATERMARK, key)
            return
        events.register(MAX_WATERMARK, key)
        if due == MatchStates.ENDLESS:
            return
        if not self.config.event_time:
            if due > self.context.clock():
                self.backend.processing_timers.register(due, key)
        elif due - 1 > self.watermark:
            events.register(due - 1, key)
