"""A stream as a program of its own: without the sinks that its environment has besides."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from millrace.runtime.jobs.specs import Collect

if TYPE_CHECKING:
    from millrace.datastream.data_stream import DataStream


@contextmanager
def apart(stream: DataStream) -> Iterator[Callable[[], Any]]:
    """The environment has this stream alone in its program, collected.

    :returns: a function that runs the program and gives an iterator of the stream's elements, to be closed.
    """
    env = stream._env
    own = env._program
    env._program = own.branch()
    try:
        node = env._program.add("Sink: Collect", Collect(), stream._edges(), None)
        yield lambda: _collected(env, node.id)
    finally:
        env._program = own


def _collected(env: Any, node: int) -> Any:
    from millrace.datastream.data_stream import CloseableIterator

    client = env._submit(None, collect=node)
    return CloseableIterator(client.collected(), client.discard)
