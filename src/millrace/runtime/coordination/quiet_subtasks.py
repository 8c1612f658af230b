"""Subtasks of a source that have nothing to read, and so hold back the watermarks of all others: no window fires then,
and nothing else says why."""

from __future__ import annotations

import logging

from millrace.runtime.coordination.reading import ReadingState
from millrace.runtime.elements import MIN_TIMESTAMP
from millrace.runtime.jobs.specs import Source

PATIENCE = 3
"""Epochs in which others have had watermarks before the warning: splits may still be found."""

logger = logging.getLogger(__name__)


class QuietSubtasks:
    """Of one source: one warning."""

    def __init__(self, source: ReadingState) -> None:
        self._source = source
        self._epochs = 0

    def look(self) -> None:
        """An epoch has ended."""
        found = self._quiet() if self._epochs < PATIENCE else ()
        if found:
            self._epochs += 1
            if self._epochs == PATIENCE:
                logger.warning("%s", self._text(found))

    def _quiet(self) -> tuple[int, ...]:
        source, spec = self._source, self._source.info.spec
        if not isinstance(spec, Source) or not spec.strategy.generator_factory:
            return ()
        marks = source.watermarks.values()
        if spec.strategy.idle_timeout_ms is not None or all(mark == MIN_TIMESTAMP for mark in marks):
            return ()
        return tuple(
            subtask
            for subtask in range(source.info.parallelism)
            if subtask not in source.finished
            and not source.splits.get(subtask)
            and source.watermarks.get(subtask, MIN_TIMESTAMP) == MIN_TIMESTAMP
        )

    def _text(self, quiet: tuple[int, ...]) -> str:
        info = self._source.info
        busy = info.parallelism - len(quiet)
        most = "one subtask" if busy == 1 else f"{busy} subtasks"
        which = ", ".join(map(str, quiet[:5])) + (", ..." if len(quiet) > 5 else "")
        return (
            f"source {info.name!r}: {len(quiet)} of {info.parallelism} subtasks ({which}) have no split to read, so "
            f"watermarks do not advance behind it and no window fires. Give it no more than {most} "
            "(set_parallelism, 'scan.parallelism', 'parallelism.default'), or let quiet ones count as idle "
            "(with_idleness, 'table.exec.source.idle-timeout')"
        )
