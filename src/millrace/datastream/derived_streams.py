"""Handles that a ``DataStream`` gives and that are loaded when a program asks for one: a stream connected with a
broadcast stream, which steers what happens to its elements; the head of a loop (Flink's ``IterativeStream``, which
PyFlink lacks); and a stream whose elements are computed once and then read by later jobs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from millrace.common.functions import BroadcastProcessFunction, KeyedBroadcastProcessFunction
from millrace.common.state import MapStateDescriptor
from millrace.common.typeinfo import TypeInformation
from millrace.connectors.result_cache import ResultCache
from millrace.datastream.data_stream import ConnectedStreams, DataStream, KeyedStream
from millrace.datastream.handles import BroadcastStream, Port, expect
from millrace.graph.program import GraphError
from millrace.runtime.operators import specs
from millrace.util.tracebacks import user_origin

if TYPE_CHECKING:
    from millrace.datastream.stream_execution_environment import StreamExecutionEnvironment


# Broadcast


class BroadcastConnectedStream:
    """A stream connected with a broadcast stream: the result of ``stream.connect(rules.broadcast(descriptor, ...))``.

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


# Loops


class IterativeStream(DataStream):
    """The head of a loop, which ``DataStream.iterate`` returns: its input, and the elements that ``close_with`` sends
    back.

        loop = numbers.iterate()
        smaller = loop.map(lambda value: value - 1)
        loop.close_with(smaller.filter(lambda value: value > 0))
        smaller.filter(lambda value: value == 0).print()

    Elements go round in epochs: what reaches the end of the loop in one epoch is at its head, timestamps and all, with
    the beginning of the next, before new input. In batch mode, too, the operators of the loop give running results.

    Event time in the loop is that of the input alone, so an element that took several rounds may be late. When the
    input has ended and an epoch brought nothing back, the last watermark passes the head: windows and event-time timers
    in the loop fire, and their results may go round again. When nothing comes back after that either, the loop has
    ended. Processing-time timers don't keep it alive.

        >>> loop = env.from_collection([3]).iterate()
        >>> lower = loop.map(lambda n: n - 1)
        >>> back = loop.close_with(lower.filter(lambda n: n > 0))
        >>> sorted(lower.execute_and_collect())
        [0, 1, 2]
    """

    def __init__(self, env: StreamExecutionEnvironment, port: Port, output_type: TypeInformation | None) -> None:
        super().__init__(env, (port,), output_type)
        self._closed: str | None = None

    def close_with(self, feedback_stream: DataStream) -> DataStream:
        """Send the elements of a stream back to the head; gives that stream.

        Any stream will do that comes from this one, however it is partitioned. Raises ``GraphError`` if it does not, if
        its declared type is another one, or if the loop was closed before.
        """
        expect(feedback_stream, DataStream, "close_with()")
        where = f"close_with() at {user_origin()}"
        program, head = self._env._program, self._ports[0].node
        if feedback_stream._env is not self._env:
            raise GraphError(f"{where}: the stream belongs to a different environment")
        if self._closed is not None:
            raise GraphError(
                f"{where}: the loop was closed at {self._closed} already; union() the streams that go back"
            )
        if not any(program.depends(port.node, head) for port in feedback_stream._ports):
            raise GraphError(f"{where}: the stream does not come from the loop that {program.node(head).origin} begins")
        declared = (self._type, feedback_stream._type)
        if None not in declared and declared[0] != declared[1]:
            raise GraphError(f"{where}: the loop has elements of type {declared[0]}, the stream of type {declared[1]}")
        program.add("Sink: Feedback", specs.CloseWith(head), feedback_stream._edges())
        self._closed = user_origin()
        return feedback_stream


# Caches


class CachedDataStream(DataStream):
    """A stream whose elements are stored, which ``DataStream.cache`` returns. Its operator is not the user's: methods
    that change one raise an error."""

    def __init__(
        self,
        env: StreamExecutionEnvironment,
        ports: tuple[Port, ...],
        output_type: TypeInformation | None,
        result: ResultCache,
    ) -> None:
        super().__init__(env, ports, output_type)
        self._result = result

    def _kind(self) -> str | None:
        return "a cached stream"

    def invalidate(self) -> None:
        """Delete the stored elements; the next job that reads this stream computes and stores them again."""
        self._result.invalidate()
