"""``KeyedStream.interval_join``: pairs of elements of one key whose timestamps are near each other."""

from __future__ import annotations

from bisect import bisect_left
from itertools import compress
from typing import Any

from millrace.common.functions import ProcessJoinFunction
from millrace.common.output_tag import OutputTag
from millrace.runtime.bases.by_key import ByKey
from millrace.runtime.bases.function import FunctionOperator
from millrace.runtime.bases.keyed import keyed_backend
from millrace.runtime.bases.process_base import Results
from millrace.runtime.elements import Chunk
from millrace.runtime.failure import OperatorError
from millrace.runtime.state.backend import KeyedStateBackend
from millrace.runtime.state.time_buffer_table import TimeBufferTable

LEFT_BUFFER, RIGHT_BUFFER = "LEFT_BUFFER", "RIGHT_BUFFER"
FLUSH_AT = 16_384
"""Results that are handed on before a chunk is through: its elements may meet any number of others."""


class JoinContext(ProcessJoinFunction.Context):
    """One object per operator, changed before each call."""

    __slots__ = ("left_timestamp", "right_timestamp")

    def __init__(self) -> None:
        self.left_timestamp = self.right_timestamp = 0

    def get_left_timestamp(self) -> int:
        return self.left_timestamp

    def get_right_timestamp(self) -> int:
        return self.right_timestamp

    def get_timestamp(self) -> int:
        return max(self.left_timestamp, self.right_timestamp)


class IntervalJoinOperator(FunctionOperator[ProcessJoinFunction]):
    """Joins elements with ``lower <= right timestamp - left timestamp <= upper`` (ms), if neither is late.

    An element is late if its timestamp is smaller than the watermark. Each side remembers an element as long as a
    partner could come that is not late. Results carry the later timestamp of the two; that is the new element's or a
    later one, so results are never late and the watermark needs no holding back.
    """

    def __init__(
        self,
        lower: int,
        upper: int,
        function: ProcessJoinFunction,
        left_late_tag: str | None = None,
        right_late_tag: str | None = None,
    ) -> None:
        super().__init__(function)
        self._lower, self._upper = lower, upper
        self._late_tags = (left_late_tag, right_late_tag)

    def setup(self, context: Any, output: Any) -> None:
        super().setup(context, output)
        self._ctx = JoinContext()
        self._backend = keyed_backend(self, self._ctx.get_timestamp)
        self._left: TimeBufferTable = self._backend.table_of(LEFT_BUFFER, TimeBufferTable.kind)
        self._right: TimeBufferTable = self._backend.table_of(RIGHT_BUFFER, TimeBufferTable.kind)

    def keyed_state(self) -> KeyedStateBackend:
        return self._backend

    def open(self) -> None:
        self._late = self.context.runtime.get_metrics_group().counter("numLateRecordsDropped")
        super().open()

    def process(self, chunk: Chunk, input: int) -> None:
        new = self._on_time(chunk, input)
        (self._right if input else self._left).add_all(*new)
        self._join(*new, input)

    def process_watermark(self, watermark: int) -> None:
        self._left.forget_before(watermark - self._upper)
        self._right.forget_before(watermark + self._lower)
        super().process_watermark(watermark)

    def _join(self, keys: list[Any], new_times: list[int], values: list[Any], input: int) -> None:
        """Call the function for all pairs of the new elements with those of the other side."""
        lower, upper = (-self._upper, -self._lower) if input else (self._lower, self._upper)
        others = self._left if input else self._right
        rows = others.rows
        if not rows:
            return
        ctx, backend, process, found = self._ctx, self._backend, self.function.process_element, Results()
        left = right = None
        try:
            for times, key, time, value in zip(map(others.times.get, keys), keys, new_times, values):
                if times is None:
                    continue
                place, count, last = bisect_left(times, time + lower), len(times), time + upper
                while place < count and times[place] <= last:
                    other_time, other = times[place], rows[key][place]
                    if input:
                        ctx.left_timestamp, ctx.right_timestamp, left, right = other_time, time, other, value
                    else:
                        ctx.left_timestamp, ctx.right_timestamp, left, right = time, other_time, value, other
                    backend.at = key
                    results = process(left, right, ctx)
                    if results is not None:
                        later = time if time > other_time else other_time
                        for result in results:
                            if result.__class__ is tuple and len(result) == 2 and isinstance(result[0], OutputTag):
                                found.gather((result,), later)
                            else:
                                found.values.append(result)
                                found.timestamps.append(later)
                    place += 1
                if len(found.values) >= FLUSH_AT:
                    found.emit(self, True)
                    found = Results()
        except Exception as error:
            raise self.context.error(error, (left, right)) from error
        found.emit(self, True)

    def _on_time(self, chunk: Chunk, input: int) -> tuple[list[Any], list[int], list[Any]]:
        """Keys, timestamps and values of the elements that are not late; raises for those without a timestamp."""
        if chunk.timestamps is None or None in chunk.timestamps:
            raise self._without_timestamp(chunk)
        times: list[int] = chunk.timestamps  # type: ignore[assignment]
        keys, values, watermark = chunk.keys or [], chunk.values, self.watermark
        if min(times, default=watermark) >= watermark:
            return keys, times, values
        late = [time < watermark for time in times]
        tag = self._late_tags[input]
        if tag is None:
            self._late.inc(sum(late))
        else:
            self.emit_side(tag, list(compress(values, late)), list(compress(times, late)))
        on_time = [not flag for flag in late]
        return list(compress(keys, on_time)), list(compress(times, on_time)), list(compress(values, on_time))

    def _without_timestamp(self, chunk: Chunk) -> OperatorError:
        times = chunk.timestamps or [None]
        cause = ValueError(
            "an interval join needs elements with timestamps; call assign_timestamps_and_watermarks() before key_by()"
        )
        return self.context.error(cause, chunk.values[times.index(None)])


class BatchIntervalJoinOperator(ByKey, IntervalJoinOperator):
    """The same in batch mode, where no element is late and a key is forgotten with its last one."""

    def end_keys(self) -> None:
        self._backend.wipe()
