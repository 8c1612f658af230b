"""What operators that look for patterns share: events that wait for the watermark, and calls of the user's function."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from functools import cmp_to_key
from itertools import compress
from typing import Any

from millrace.common.output_tag import OutputTag
from millrace.runtime.bases.base import NO_ELEMENT
from millrace.runtime.bases.function import FunctionOperator
from millrace.runtime.bases.keyed import keyed_backend
from millrace.runtime.bases.process_base import Results
from millrace.runtime.cep.functions import Match, PatternContext, PatternProcessFunction, TimedOutPartialMatchHandler
from millrace.runtime.cep.nfa import ConditionError
from millrace.runtime.elements import Chunk
from millrace.runtime.failure import OperatorError
from millrace.runtime.operators.matching.run import PatternRun
from millrace.runtime.state.backend import KeyedStateBackend
from millrace.runtime.state.row_buffer_table import EventBufferTable

MATCHES, WAITING = "partial-matches", "waiting-events"
FLUSH_AT = 16_384
"""Results that are handed on before all keys are through."""


class MatchContext(PatternContext):
    """What the function sees; one object per operator, changed before each call."""

    def __init__(self, clock: Callable[[], int]) -> None:
        self._clock = clock
        self.found = Results()
        self.time = 0
        self.stamp: int | None = None
        """the timestamp of what is put out; None in processing time"""

    def output(self, output_tag: OutputTag, value: Any) -> None:
        self.found.add_side(output_tag.tag_id, value, self.stamp)

    def timestamp(self) -> int:
        return self.time

    def current_processing_time(self) -> int:
        return self._clock()


class PatternOperator(FunctionOperator[PatternProcessFunction]):
    """Events wait for the watermark; then each key's go through the automatons. In processing time they do at once."""

    def __init__(
        self,
        function: PatternProcessFunction,
        event_time: bool,
        comparator: Callable[[Any, Any], int] | None,
        late_tag: str | None,
    ) -> None:
        super().__init__(function)
        self._event_time, self._late_tag = event_time, late_tag
        self._order = None if comparator is None else cmp_to_key(comparator)

    @abstractmethod
    def runs(self) -> Sequence[PatternRun]:
        """The patterns at work."""

    def new_context(self) -> MatchContext:
        """What the function sees."""
        return MatchContext(self.context.clock)

    def setup(self, context: Any, output: Any) -> None:
        super().setup(context, output)
        self.ctx = self.new_context()
        self.backend = keyed_backend(self, self.ctx.timestamp)
        self._events: EventBufferTable = self.backend.table_of(WAITING, EventBufferTable.kind)
        self.hears_timeouts = isinstance(self.function, TimedOutPartialMatchHandler)
        self._now = 0

    def keyed_state(self) -> KeyedStateBackend:
        return self.backend

    def open(self) -> None:
        metrics = self.context.runtime.get_metrics_group()
        self._late = metrics.counter("numLateRecordsDropped")
        metrics.gauge("numPartialMatches", lambda: sum(run.partial_matches for run in self.runs()))
        metrics.gauge("sharedBufferEntries", lambda: sum(run.links for run in self.runs()))
        super().open()

    # Events

    def process(self, chunk: Chunk, input: int) -> None:
        keys, values = chunk.keys or [], chunk.values
        if self._event_time:
            self._events.add(*self._on_time(keys, chunk.timestamps, values))
            return
        now = self._now = max(self._now, self.context.clock())
        if self._order is not None:
            self._events.add(keys, [now] * len(keys), values)
            return
        self._run(keys, [now] * len(keys), values, None)

    def _on_time(
        self, keys: list[Any], times: list[int | None] | None, values: list[Any]
    ) -> tuple[list[Any], list[int], list[Any]]:
        if times is None or None in times:
            raise self._without_timestamp(times, values)
        stamps: list[int] = times  # type: ignore[assignment]
        watermark = self.watermark
        if min(stamps, default=watermark + 1) > watermark:
            return keys, stamps, values
        late = [time <= watermark for time in stamps]
        if self._late_tag is None:
            self._late.inc(sum(late))
        else:
            self.emit_side(self._late_tag, list(compress(values, late)), list(compress(times, late)))
        good = [not flag for flag in late]
        return list(compress(keys, good)), list(compress(stamps, good)), list(compress(values, good))

    def _without_timestamp(self, times: list[int | None] | None, values: list[Any]) -> OperatorError:
        cause = ValueError(
            "a pattern in event time needs elements with timestamps; call assign_timestamps_and_watermarks() before "
            "it, or in_processing_time() on the pattern stream"
        )
        return self.context.error(cause, values[(times or [None]).index(None)])

    def process_watermark(self, watermark: int) -> None:
        if self._event_time:
            self.watermark = watermark
            self.advance(watermark)
        super().process_watermark(watermark)

    def advance(self, time: int) -> None:
        """Event time has come to ``time``."""
        self._run(*self._events.take(time), time)

    def advance_processing_time(self, now: int) -> None:
        if not self._event_time:
            now = self._now = max(self._now, now)
            self._run(*self._events.take(now - 1), now)

    def next_due(self) -> int | None:
        if self._event_time:
            return None
        return min((due for run in self.runs() if (due := run.next_due()) is not None), default=None)

    def _run(self, keys: list[Any], times: list[int], values: list[Any], until: int | None) -> None:
        """Events in the order of time through all patterns, then the passing of time until ``until``."""
        self.ctx.found = Results()
        places: dict[Any, list[int]] = {}
        for place, key in enumerate(keys):
            known = places.get(key)
            if known is None:
                places[key] = [place]
            else:
                known.append(place)
        if self._order is not None:
            for own in places.values():
                _sort_ties(own, times, values, self._order)
        try:
            for run in self.runs():
                run.run(places, times, values, until, self._flush)
        except ConditionError as error:
            cause = error.__cause__
            assert isinstance(cause, Exception)
            raise self.context.error(cause, error.event, " in a condition of the pattern") from cause
        self.ctx.found.emit(self, self._event_time)

    def _flush(self) -> None:
        found = self.ctx.found
        if len(found.values) >= FLUSH_AT:
            found.emit(self, self._event_time)
            self.ctx.found = Results()

    # Results

    def tell(self, match: Match, time: int) -> None:
        """There is a match."""
        self._call(self.function.process_match, match, time)

    def tell_timeout(self, match: Match, time: int) -> None:
        """A partial match has timed out."""
        self._call(self.function.process_timed_out_match, match, time)  # type: ignore[attr-defined]

    def _call(self, method: Callable[[Match, PatternContext], Iterable[Any] | None], match: Match, time: int) -> None:
        ctx = self.ctx
        ctx.time, ctx.stamp = time, time if self._event_time else None
        try:
            results = method(match, ctx)
            if results is not None:
                ctx.found.gather(results, ctx.stamp)
        except Exception as error:
            raise self.context.error(error, match or NO_ELEMENT) from error


def _sort_ties(places: list[int], times: list[int], values: list[Any], order: Callable[[Any], Any]) -> None:
    """Bring events of the same time into the order of a comparator."""
    places.sort(key=lambda place: (times[place], order(values[place])))
