"""A stream connected with a broadcast stream, which steers what happens to its elements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from millrace.common.functions import BroadcastProcessFunction, KeyedBroadcastProcessFunction
from millrace.common.state import MapStateDescriptor
from millrace.common.typeinfo import TypeInformation
from millrace.datastream.broadcast_stream import BroadcastStream
from millrace.datastream.data_stream import ConnectedStreams, DataStream, KeyedStream, expect
from millrace.graph.origin import user_origin
from millrace.runtime.jobs import specs

__all__ = ["BroadcastConnectedStream"]


class BroadcastConnectedStream:
    """What ``stream.connect(rules.broadcast(descriptor, ...))`` gives.

    Every subtask gets all elements of the broadcast side exactly once and keeps what they say in broadcast state, which
    the elements of the other side are handled by.

        >>> rules = MapStateDescriptor("rules", Types.STRING(), Types.INT())
        >>> class Limit(BroadcastProcessFunction):
        ...     def process_element(self, value, ctx):
        ...         if value > (ctx.get_broadcast_state(rules).get("limit") or 0):
        ...             yield value
        ...     def process_broadcast_element(self, value, ctx):
        ...         ctx.get_broadcast_state(rules).put(*value)
        >>> told = env.from_collection([("limit", 3)]).broadcast(rules)
        >>> list(env.from_collection([2, 5]).connect(told).process(Limit()).execute_and_collect())
        [5]
    """

    def __init__(
        self,
        non_broadcast_stream: DataStream,
        broadcast_stream: BroadcastStream,
        broadcast_state_descriptors: Sequence[MapStateDescriptor],
    ) -> None:
        self.non_broadcast_stream = non_broadcast_stream
        self.broadcast_stream = broadcast_stream
        self.broadcast_state_descriptors = list(broadcast_state_descriptors)
        self._both = ConnectedStreams(non_broadcast_stream, broadcast_stream.input_stream)

    def process(
        self,
        func: BroadcastProcessFunction[Any, Any, Any] | KeyedBroadcastProcessFunction[Any, Any, Any, Any],
        output_type: TypeInformation | None = None,
    ) -> DataStream:
        """Run a KeyedBroadcastProcessFunction on a keyed stream, a BroadcastProcessFunction on another.

        :raises TypeError: the function is of the other kind, or of neither.
        """
        descriptors = tuple(self.broadcast_state_descriptors)
        if isinstance(self.non_broadcast_stream, KeyedStream):
            _refuse(func, BroadcastProcessFunction, "the stream is keyed: take a KeyedBroadcastProcessFunction")
            expect(func, KeyedBroadcastProcessFunction, "process() on a keyed stream with a broadcast stream")
            keyed = specs.KeyedBroadcastProcess(func, descriptors)  # type: ignore[arg-type]
            return self._both._add("Keyed-Co-Process-Broadcast", keyed, output_type)
        _refuse(
            func,
            KeyedBroadcastProcessFunction,
            "the stream is not keyed: call key_by() on it before connect(), or take a BroadcastProcessFunction",
        )
        expect(func, BroadcastProcessFunction, "process() on a stream with a broadcast stream")
        plain = specs.BroadcastProcess(func, descriptors)  # type: ignore[arg-type]
        return self._both._add("Co-Process-Broadcast", plain, output_type)


def _refuse(func: Any, wrong: type, why: str) -> None:
    if isinstance(func, wrong):
        raise TypeError(f"process() at {user_origin()} can't run {type(func).__name__}, a {wrong.__name__}: {why}")
