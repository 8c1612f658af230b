"""The head of a loop: Flink's ``IterativeStream``, which PyFlink lacks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from millrace.common.typeinfo import TypeInformation
from millrace.datastream.data_stream import DataStream, Port, expect
from millrace.graph.nodes import GraphError
from millrace.graph.origin import user_origin
from millrace.runtime.jobs import specs

if TYPE_CHECKING:
    from millrace.datastream.stream_execution_environment import StreamExecutionEnvironment

__all__ = ["IterativeStream"]


class IterativeStream(DataStream):
    """What ``DataStream.iterate`` returns: its input, and what ``close_with`` sends back.

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

    def __init__(
        self, env: StreamExecutionEnvironment, port: Port, output_type: TypeInformation | None
    ) -> None:
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
