"""A stream as a program of its own: without the sinks that its environment has besides."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from millrace.runtime.jobs.specs import Collect

if TYPE_CHECKING:
    from millrace.datastream import StreamExecutionEnvironment
    from millrace.datastream.data_stream import DataStream


@contextmanager
def alone(stream: DataStream) -> Iterator[StreamExecutionEnvironment]:
    """The environment of a stream, with nothing in its program but what the stream reads and a sink."""
    with stream._env._apart() as program:
        program.add("Sink: Collect", Collect(), stream._edges(), None)
        yield stream._env


def has_end(stream: DataStream) -> bool:
    """Whether all that the stream reads has an end."""
    with alone(stream) as env:
        return env._bounded()


def collected(stream: DataStream) -> Any:
    """Run the stream alone: an iterator of its elements, also of a keyed one, to be closed."""
    from millrace.datastream.data_stream import DataStream

    with stream._env._apart():
        return DataStream.execute_and_collect(stream)
