"""``split`` and ``select``: one stream cut into several by names."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from millrace.datastream.data_stream import DataStream
from millrace.legacy.streams.functions import OutputSelector
from millrace.legacy.telling import tell

__all__ = ["SplitStream", "split"]


class SplitStream(DataStream):
    """A stream whose elements have names."""

    def __init__(self, stream: DataStream, select: Callable[[Any], Iterable[str]]) -> None:
        super().__init__(stream._env, stream._ports, stream._type)
        self._select = select

    def select(self, *output_names: str) -> DataStream:
        """The elements that have one of these names."""
        if not output_names:
            raise ValueError("select() takes at least one name")
        select, wanted = self._select, frozenset(output_names)
        return self.filter(lambda value: not wanted.isdisjoint(select(value))).name("Select")


def split(stream: DataStream, output_selector: OutputSelector | Callable[[Any], Iterable[str]]) -> SplitStream:
    """Give each element the names that the selector says."""
    tell("DataStream.split()", "process() with OutputTags and get_side_output(), or filter()")
    select = output_selector.select if isinstance(output_selector, OutputSelector) else output_selector
    if not callable(select):
        raise TypeError(f"split() takes an OutputSelector, not {type(output_selector).__name__}")
    return SplitStream(stream, select)
