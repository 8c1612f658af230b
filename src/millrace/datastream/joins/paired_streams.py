"""What window join and co-group have in common: two streams, their keys, their windows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from operator import itemgetter
from typing import Any, Generic, TypeVar

from millrace.common.functions import KeySelector
from millrace.common.output_tag import OutputTag
from millrace.common.time import TimeSpan
from millrace.common.typeinfo import TypeInformation
from millrace.common.window import Evictor, Trigger, WindowAssigner
from millrace.datastream.data_stream import DataStream, KeyedStream, Port, _key_function, checked_type, expect
from millrace.datastream.joins.join_checks import check_environments, check_key_types
from millrace.datastream.windowed_stream import WindowedStream
from millrace.graph.origin import user_origin
from millrace.runtime.exchange.tagged_hash import TaggedHash

Selector = Callable[[Any], Any] | KeySelector | str | int
"""What ``key_by`` takes."""


class TaggedWindows(WindowedStream):
    """The windows of both sides together, as elements (1, element) and (2, element)."""

    _late_element = itemgetter(1)


class WithWindow:
    """Two streams with their keys in windows. Methods that set something change the handle and give it back.

    Assigner, trigger and evictor see the elements as (1, element) and (2, element).
    """

    def __init__(self, windows: TaggedWindows) -> None:
        self._windows = windows

    def trigger(self: W, trigger: Trigger[Any, Any]) -> W:
        """When windows are evaluated, in place of the assigner's own trigger."""
        self._windows.trigger(trigger)
        return self

    def evictor(self: W, evictor: Evictor[Any, Any]) -> W:
        """What leaves a window before or after it is evaluated."""
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
"""The last handle before the function."""


class EqualTo(Generic[W]):
    """Two streams with their keys."""

    def __init__(self, tagged: KeyedStream, with_window: type[W]) -> None:
        self._tagged = tagged
        self._with_window = with_window

    def window(self, assigner: WindowAssigner[Any, Any]) -> W:
        """Bring together what has the same key and is in the same window."""
        return self._with_window(TaggedWindows(self._tagged, assigner))


class Where(Generic[W]):
    """Two streams, the first with its key."""

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
        """The key of the second stream's elements."""
        check_key_types("equal_to()", self._key_type, checked_type(key_type))
        ports = (*self._ports, *_tagged("equal_to()", self._second, key_selector, 2))
        tagged = KeyedStream(self._first._env, ports, None, self._first, itemgetter(1), self._key_type or key_type)
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
        """The key of the first stream's elements."""
        ports = _tagged("where()", self._first, key_selector, 1)
        return Where(self._first, self._second, ports, checked_type(key_type), self._with_window)


def _tagged(method: str, stream: DataStream, key_selector: Selector, tag: int) -> tuple[Port, ...]:
    """Where the elements of one side come from."""
    hashed = TaggedHash(_key_function(key_selector, method), origin=f"{method} at {user_origin()}", tag=tag)
    plain = stream._origin_stream if isinstance(stream, KeyedStream) else stream
    return tuple(replace(port, partitioner=hashed) for port in plain._ports)
