"""Where the patterns of a job come from when they are not messages: something that is asked again and again."""

from __future__ import annotations

import logging
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import Any

from millrace.cep.pattern_processor import PatternProcessor, updates_of
from millrace.common.functions import (
    CheckpointedFunction,
    FunctionInitializationContext,
    FunctionSnapshotContext,
    SourceFunction,
)
from millrace.common.time import Duration, TimeSpan, to_millis
from millrace.runtime.cep.updates import PatternUpdates
from millrace.util.secrets import mask_text

__all__ = ["JDBCPeriodicPatternProcessorDiscoverer", "PatternProcessorDiscoverer", "PeriodicPatternProcessorDiscoverer"]

_EVERY = Duration.of_seconds(30)
_log = logging.getLogger(__name__)


class PatternProcessorDiscoverer(ABC):
    """Knows the patterns that there are. ``discover`` is called again and again, by one subtask.

        >>> class Fixed(PatternProcessorDiscoverer):
        ...     def discover(self):
        ...         return [PatternProcessor("large", 1, Pattern.begin("a").where("amount > 100"))]

    :param interval: from one call to the next.
    :param failures: so many calls may fail one after the other; then the job does.
    """

    def __init__(self, interval: TimeSpan = _EVERY, failures: int = 10) -> None:
        self.interval_ms, self.failures = to_millis(interval), failures
        if self.interval_ms <= 0:
            raise ValueError(f"the interval of a discoverer is longer than 0, not {self.interval_ms} ms")

    @abstractmethod
    def discover(self) -> Iterable[Any]:
        """All patterns: processors, or rows, objects or JSON with id, version, pattern and function."""


class PeriodicPatternProcessorDiscoverer(PatternProcessorDiscoverer):
    """Calls a function that gives all patterns: a file's, those of a table of any kind.

        >>> def discover():
        ...     return [PatternProcessor("large", 1, Pattern.begin("a").where("amount > 100"))]
        >>> discoverer = PeriodicPatternProcessorDiscoverer(discover, Time.minutes(1))
    """

    def __init__(self, discover: Callable[[], Iterable[Any]], interval: TimeSpan = _EVERY, failures: int = 10) -> None:
        super().__init__(interval, failures)
        self._discover = discover

    def discover(self) -> Iterable[Any]:
        return self._discover()


class JDBCPeriodicPatternProcessorDiscoverer(PatternProcessorDiscoverer):
    """Reads a table with the columns id, version, pattern and function of a database.

        >>> discoverer = JDBCPeriodicPatternProcessorDiscoverer("jdbc:sqlite:patterns.db", "patterns")
    """

    def __init__(
        self,
        url: str,
        table: str,
        user: str | None = None,
        password: str | None = None,
        interval: TimeSpan = _EVERY,
        failures: int = 10,
    ) -> None:
        super().__init__(interval, failures)
        from millrace.connectors.jdbc.scan import Query
        from millrace.connectors.jdbc.sink import Database
        from millrace.connectors.jdbc.url import parse
        from millrace.relational.fields import Field
        from millrace.relational.types import BigIntType, VarCharType

        text = VarCharType()
        columns = (Field("id", text), Field("version", BigIntType()), Field("pattern", text), Field("function", text))
        self._database, self._query = Database(*parse(url, user, password)), Query(table, columns)

    def discover(self) -> Iterable[Any]:
        for rows in self._query.batches(self._database):
            yield from zip(*(column.to_pylist() for column in rows.batch.columns))


class DiscoveringSource(SourceFunction[PatternUpdates], CheckpointedFunction):
    """Emits all patterns whenever they are others than before, and once after a restart."""

    def __init__(self, discoverer: PatternProcessorDiscoverer) -> None:
        self._discoverer = discoverer

    def open(self, runtime_context: Any) -> None:
        self._ended = threading.Event()

    def initialize_state(self, context: FunctionInitializationContext) -> None:
        """There is none: what was emitted before is emitted again, and changes nothing."""

    def snapshot_state(self, context: FunctionSnapshotContext) -> None:
        """There is none."""

    def run(self, ctx: SourceFunction.SourceContext[PatternUpdates]) -> None:
        told: PatternUpdates | None = None
        failed = 0
        while not self._ended.is_set():
            try:
                found = PatternUpdates(tuple(updates_of(each).updates[0] for each in self._discoverer.discover()), True)
                failed = 0
            except Exception as error:
                failed += 1
                if failed > self._discoverer.failures:
                    raise
                _log.warning("the patterns can't be read (%s in a row): %s", failed, mask_text(str(error)))
                found = told or PatternUpdates(())
            if found != told and not failed:
                with ctx.get_checkpoint_lock():
                    ctx.collect(found)
                told = found
            self._ended.wait(self._discoverer.interval_ms / 1000)

    def cancel(self) -> None:
        self._ended.set()


def all_patterns(*processors: PatternProcessor) -> PatternUpdates:
    """The message that these are all patterns."""
    return PatternUpdates(tuple(each._update for each in processors), True)
