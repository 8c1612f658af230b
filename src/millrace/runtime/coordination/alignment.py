"""Watermark alignment: how far the sources of a group may be ahead of the slowest of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from millrace.runtime.coordination.reading import ReadingState
from millrace.runtime.elements import MIN_TIMESTAMP
from millrace.runtime.protocol.so_far import TaskSoFar

Place = tuple[int, int]
"""(id of a source's operator, subtask)"""


class Alignment:
    """Knows the alignment groups of a job's sources."""

    def __init__(self, sources: Sequence[ReadingState]) -> None:
        self._sources = [(source, source.alignment) for source in sources if source.alignment is not None]
        self._so_far: dict[Place, tuple[int, bool]] = {}
        """of the epoch that goes on: (watermark, whether it holds others back)"""
        self._said: dict[int, int] = {}

    def begin_epoch(self) -> dict[int, int]:
        """The limits of a new epoch: id of a source's operator -> the watermark (ms) above which it pauses."""
        self._so_far.clear()
        self._said = self._limits()
        return self._said

    def so_far(self, tasks: Iterable[TaskSoFar]) -> dict[int, int]:
        """The same of an epoch that goes on, if they have changed by what these tasks have done; else nothing."""
        if not self._sources:
            return {}
        for task in tasks:
            for report in task.reports:
                if report.holds_back is not None:
                    self._so_far[report.operator, report.subtask] = report.watermark_out, report.holds_back
        limits = self._limits()
        if limits == self._said:
            return {}
        self._said = limits
        return limits

    def _limits(self) -> dict[int, int]:
        groups: dict[str, list[tuple[int, int]]] = {}
        for source, alignment in self._sources:
            marks = self._holding_back(source)
            groups.setdefault(alignment.group, []).extend((mark, alignment.max_drift_ms) for mark in marks)
        limits = {
            group: min(mark for mark, _ in members) + min(drift for _, drift in members)
            for group, members in groups.items()
            if members
        }
        groups_of = {source.info.id: alignment.group for source, alignment in self._sources}
        return {id: limits[group] for id, group in groups_of.items() if group in limits}

    def _holding_back(self, source: ReadingState) -> Iterator[int]:
        """The watermarks of the subtasks that others wait for: not of those that are idle or have nothing to read."""
        for subtask in range(source.info.parallelism):
            if subtask not in source.finished:
                known = source.watermarks.get(subtask, MIN_TIMESTAMP), source.holds_back.get(subtask, True)
                mark, holds_back = self._so_far.get((source.info.id, subtask), known)
                if holds_back:
                    yield max(mark, known[0])
