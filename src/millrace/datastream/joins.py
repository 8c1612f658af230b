"""Joins of two streams by key: window joins and co-groups, whose functions become a ``WindowFunction`` that sees the
tagged elements of both sides; and interval joins, from handle to function."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from operator import itemgetter
from typing import Any, Generic, TypeVar

from millrace.common.functions import (
    CoGroupFunction,
    FlatJoinFunction,
    JoinFunction,
    KeySelector,
    ProcessJoinFunction,
    WindowFunction,
)
from millrace.common.functions.callables import as_co_group, as_join
from millrace.common.output_tag import OutputTag
from millrace.common.time import TimeSpan, to_millis
from millrace.common.typeinfo import TypeInformation
from millrace.common.window import Evictor, Trigger, WindowAssigner
from millrace.datastream.data_stream import ConnectedStreams, DataStream, KeyedStream
from millrace.datastream.function_adapters import Adapter
from millrace.datastream.handles import OTHER_ENVIRONMENT, Port, _function, _key_function, checked_type, expect
from millrace.datastream.windowed_stream import WindowedStream
from millrace.graph.program import GraphError
from millrace.runtime.exchange.partitioners import TaggedHash
from millrace.runtime.operators import specs
from millrace.util.tracebacks import user_origin

# Checks


def check_environments(method: str, stream1: DataStream, stream2: DataStream) -> None:
    """Raises ``GraphError`` if the streams belong to different environments."""
    if stream1._env is not stream2._env:
        raise GraphError(f"{method} at {user_origin()}: {OTHER_ENVIRONMENT}")


def check_key_types(method: str, type1: TypeInformation | None, type2: TypeInformation | None) -> None:
    """Raises ``GraphError`` if both sides declare a type of their keys, and not the same."""
    if type1 is not None and type2 is not None and type1 != type2:
        raise GraphError(f"{method} at {user_origin()}: the keys of both sides have different types: {type1}, {type2}")


# Functions


class CoGroupWindow(Adapter[CoGroupFunction], WindowFunction[tuple[int, Any], Any, Any, Any]):
    """Splits a window's elements into those of the first and those of the second stream."""

    def apply(self, key: Any, window: Any, inputs: Iterable[tuple[int, Any]]) -> Iterable[Any]:
        groups: tuple[list[Any], list[Any]] = ([], [])
        for tag, value in inputs:
            groups[tag - 1].append(value)
        results = self.function.co_group(*groups)
        return () if results is None else results


class EachPair(Adapter[JoinFunction], CoGroupFunction):
    """All pairs of both groups, the first one's elements in the outer loop."""

    def co_group(self, first: Iterable[Any], second: Iterable[Any]) -> Iterable[Any]:
        join = self.function.join
        return (join(one, two) for one in first for two in second)


class EachPairFlat(Adapter[FlatJoinFunction], CoGroupFunction):
    """All pairs of both groups, for a function that returns any number of results for a pair."""

    def co_group(self, first: Iterable[Any], second: Iterable[Any]) -> Iterable[Any]:
        join = self.function.join
        return (result for one in first for two in second for result in join(one, two) or ())


# Keys and windows

Selector = Callable[[Any], Any] | KeySelector | str | int
"""The types of key selectors that ``key_by`` accepts."""


class TaggedWindows(WindowedStream):
    """The windows of a join. The elements of both sides are tagged: (1, element) and (2, element)."""

    _late_element = itemgetter(1)


class WithWindow:
    """Two streams with their keys in windows. Methods that set something change the handle and give it back.

    Assigner, trigger and evictor see the elements as (1, element) and (2, element).
    """

    def __init__(self, windows: TaggedWindows) -> None:
        self._windows = windows

    def trigger(self: W, trigger: Trigger[Any, Any]) -> W:
        """Use this trigger in place of the assigner's own."""
        self._windows.trigger(trigger)
        return self

    def evictor(self: W, evictor: Evictor[Any, Any]) -> W:
        """Use this evictor, which removes elements before or after a window is evaluated."""
        self._windows.evictor(evictor)
        return self

    def allowed_lateness(self: W, time_ms: int | TimeSpan) -> W:
        """How long (ms of event time) windows wait for late elements after they fired: each then fires them again."""
        self._windows.allowed_lateness(time_ms)
        return self

    def side_output_late_data(self: W, output_tag: OutputTag) -> W:
        """Send elements of either stream that are too late for all their windows to a side output (an addition to
        Flink); otherwise they are counted and dropped (metric ``numLateRecordsDropped``)."""
        self._windows.side_output_late_data(output_tag)
        return self


W = TypeVar("W", bound=WithWindow)
"""The last handle of a join before its function."""


class EqualTo(Generic[W]):
    """Two streams with their key selectors."""

    def __init__(self, tagged: KeyedStream, with_window: type[W]) -> None:
        self._tagged = tagged
        self._with_window = with_window

    def window(self, assigner: WindowAssigner[Any, Any]) -> W:
        """Assign the elements of both streams to windows, within which equal keys meet."""
        return self._with_window(TaggedWindows(self._tagged, assigner))


class Where(Generic[W]):
    """Two streams, the first with its key selector."""

    def __init__(
        self,
        first: DataStream,
        second: DataStream,
        ports: tuple[Port, ...],
        key_type: TypeInformation | None,
        with_window: type[W],
    ) -> None:
        self._first = first
        self._second = second
        self._ports = ports
        self._key_type = key_type
        self._with_window = with_window

    def equal_to(self, key_selector: Selector, key_type: TypeInformation | None = None) -> EqualTo[W]:
        """Set the key selector of the second stream."""
        check_key_types("equal_to()", self._key_type, checked_type(key_type))
        ports = (*self._ports, *_tagged("equal_to()", self._second, key_selector, 2))
        tagged = KeyedStream(self._first._env, ports, None, self._first, self._key_type or key_type)
        return EqualTo(tagged, self._with_window)


class PairedStreams(Generic[W]):
    """Two streams, the first and the second one."""

    _with_window: type[W]

    def __init__(self, stream1: DataStream, stream2: DataStream, method: str) -> None:
        expect(stream2, DataStream, method)
        check_environments(method, stream1, stream2)
        self._first = stream1
        self._second = stream2

    def where(self, key_selector: Selector, key_type: TypeInformation | None = None) -> Where[W]:
        """Set the key selector of the first stream."""
        ports = _tagged("where()", self._first, key_selector, 1)
        return Where(self._first, self._second, ports, checked_type(key_type), self._with_window)


def _tagged(method: str, stream: DataStream, key_selector: Selector, tag: int) -> tuple[Port, ...]:
    """The node that tags the elements of one side."""
    hashed = TaggedHash(_key_function(key_selector, method), origin=f"{method} at {user_origin()}", tag=tag)
    plain = stream._origin_stream if isinstance(stream, KeyedStream) else stream
    return tuple(replace(port, partitioner=hashed) for port in plain._ports)


# Co-groups


class CoGroupWindows(WithWindow):
    """A co-group with its keys and windows."""

    def apply(
        self,
        function: CoGroupFunction | Callable[[Iterable[Any], Iterable[Any]], Iterable[Any] | None],
        output_type: TypeInformation | None = None,
    ) -> DataStream:
        """Call the function with all elements of each key and window: those of the first stream, those of the second.

        Results have the last timestamp of the window.
        """
        co_group = _function(as_co_group, function, "apply()")
        return self._windows.apply(CoGroupWindow(co_group), output_type)


class CoGroupedStreams(PairedStreams[CoGroupWindows]):
    """Two streams that are grouped together: ``where()``, ``equal_to()``, ``window()`` and ``apply()`` follow."""

    _with_window = CoGroupWindows

    def __init__(self, stream1: DataStream, stream2: DataStream) -> None:
        super().__init__(stream1, stream2, "co_group()")


# Window joins


class JoinWindows(WithWindow):
    """A window join with its keys and windows."""

    def apply(
        self,
        function: JoinFunction | FlatJoinFunction | Callable[[Any, Any], Any],
        output_type: TypeInformation | None = None,
    ) -> DataStream:
        """Call the function for each pair of elements of the same key and window; a callable gives one result.

        It is an inner join: an element without a partner in its window gives nothing. Results have the last timestamp
        of the window.
        """
        join = _function(as_join, function, "apply()")
        pairs = EachPairFlat(join) if isinstance(join, FlatJoinFunction) else EachPair(join)
        return self._windows.apply(CoGroupWindow(pairs), output_type)


class JoinedStreams(PairedStreams[JoinWindows]):
    """Two streams that are joined: ``where()``, ``equal_to()``, ``window()`` and ``apply()`` follow."""

    _with_window = JoinWindows

    def __init__(self, stream1: DataStream, stream2: DataStream) -> None:
        super().__init__(stream1, stream2, "join()")


# Interval joins


class IntervalJoin:
    """Two keyed streams, the left and the right one; ``between`` sets the bounds of the interval."""

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
        """Send elements of the right stream that are behind the watermark to a side output; otherwise they are counted
        and dropped."""
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
