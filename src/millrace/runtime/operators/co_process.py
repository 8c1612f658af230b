"""``ConnectedStreams.process``: two inputs, one function, on plain and on keyed streams."""

from __future__ import annotations

from millrace.common.functions import CoProcessFunction, KeyedCoProcessFunction
from millrace.runtime.bases.by_key import OneKeyAtATime
from millrace.runtime.bases.process_base import ElementFunction, KeyedProcessBase, UnkeyedProcessBase
from millrace.runtime.elements import Chunk


class CoProcessOperator(UnkeyedProcessBase[CoProcessFunction]):
    """A CoProcessFunction on two streams without keys."""

    def process(self, chunk: Chunk, input: int) -> None:
        self.run(chunk, self.function.process_element2 if input else self.function.process_element1)


class KeyedCoProcessOperator(KeyedProcessBase[KeyedCoProcessFunction]):
    """A KeyedCoProcessFunction: both inputs share the state of a key."""

    def process(self, chunk: Chunk, input: int) -> None:
        self.run(chunk, self.function.process_element2 if input else self.function.process_element1)


class BatchKeyedCoProcessOperator(OneKeyAtATime, KeyedCoProcessOperator):
    """The same in batch mode."""

    def method_of(self, input: int) -> ElementFunction:
        return self.function.process_element2 if input else self.function.process_element1
