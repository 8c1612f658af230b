"""``interval_join``: what the user says between ``KeyedStream.interval_join`` and ``process``."""

from __future__ import annotations

from millrace.common.functions import ProcessJoinFunction
from millrace.common.output_tag import OutputTag
from millrace.common.time import TimeSpan, to_millis
from millrace.common.typeinfo import TypeInformation
from millrace.datastream.data_stream import ConnectedStreams, DataStream, KeyedStream, expect
from millrace.datastream.joins.join_checks import check_environments, check_key_types
from millrace.graph.nodes import GraphError
from millrace.graph.origin import user_origin
from millrace.runtime.jobs import specs

__all__ = ["IntervalJoin", "IntervalJoined"]


class IntervalJoin:
    """Two keyed streams, the left one and the right one; how far apart two elements may be is still open."""

    def __init__(self, left: KeyedStream, right: KeyedStream) -> None:
        expect(right, KeyedStream, "interval_join()")
        check_environments("interval_join()", left, right)
        check_key_types("interval_join()", left._key_type, right._key_type)
        self._left = left
        self._right = right

    def in_event_time(self) -> IntervalJoin:
        """Go by the elements' timestamps, which is the only way."""
        return self

    def in_processing_time(self) -> IntervalJoin:
        raise GraphError(
            f"in_processing_time() at {user_origin()}: an interval join goes by event time only; nearest: "
            f"connect() and a KeyedCoProcessFunction with processing-time timers"
        )

    def between(self, lower_bound: TimeSpan, upper_bound: TimeSpan) -> IntervalJoined:
        """Join where ``left + lower_bound <= right <= left + upper_bound`` holds for the timestamps.

        Bounds may be negative.
        """
        try:
            lower, upper = to_millis(lower_bound), to_millis(upper_bound)
        except TypeError as error:
            raise TypeError(f"between() at {user_origin()}: {error}") from None
        if lower > upper:
            raise GraphError(
                f"between() at {user_origin()}: the lower bound ({lower} ms) is above the upper bound ({upper} ms)"
            )
        return IntervalJoined(self._left, self._right, lower, upper)


class IntervalJoined:
    """An interval join with its bounds (ms). Methods that set something change the handle and give it back."""

    def __init__(self, left: KeyedStream, right: KeyedStream, lower: int, upper: int) -> None:
        self._left = left
        self._right = right
        self._lower = lower
        self._upper = upper
        self._lower_exclusive = self._upper_exclusive = False
        self._left_late: OutputTag | None = None
        self._right_late: OutputTag | None = None

    def lower_bound_exclusive(self) -> IntervalJoined:
        """Leave the lower bound itself out."""
        self._lower_exclusive = True
        return self

    def upper_bound_exclusive(self) -> IntervalJoined:
        """Leave the upper bound itself out."""
        self._upper_exclusive = True
        return self

    def side_output_left_late_data(self, output_tag: OutputTag) -> IntervalJoined:
        """Send elements of the left stream that are behind the watermark to a side output; otherwise they are counted
        and dropped (metric ``numLateRecordsDropped``)."""
        expect(output_tag, OutputTag, "side_output_left_late_data()")
        self._left_late = output_tag
        return self

    def side_output_right_late_data(self, output_tag: OutputTag) -> IntervalJoined:
        """The same for elements of the right stream."""
        expect(output_tag, OutputTag, "side_output_right_late_data()")
        self._right_late = output_tag
        return self

    def process(
        self, process_join_function: ProcessJoinFunction, output_type: TypeInformation | None = None
    ) -> DataStream:
        """Call the function for each pair as soon as both elements are there; results get the later timestamp."""
        expect(process_join_function, ProcessJoinFunction, "process() of an interval join")
        lower, upper = self._lower + self._lower_exclusive, self._upper - self._upper_exclusive
        if lower > upper:
            raise GraphError(
                f"process() at {user_origin()}: with exclusive bounds nothing lies between {self._lower} ms and "
                f"{self._upper} ms"
            )
        tags = self._left_late, self._right_late
        left_tag, right_tag = (None if tag is None else tag.tag_id for tag in tags)
        spec = specs.IntervalJoin(lower, upper, process_join_function, left_tag, right_tag)
        stream = ConnectedStreams(self._left, self._right)._add("Interval Join", spec, output_type)
        for tag in tags:
            if tag is not None:
                stream.get_side_output(tag)
        return stream
