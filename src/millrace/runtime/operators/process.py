"""``DataStream.process`` and ``KeyedStream.process``."""

from __future__ import annotations

from millrace.common.functions import KeyedProcessFunction, ProcessFunction
from millrace.runtime.bases.by_key import OneKeyAtATime
from millrace.runtime.bases.process_base import ElementFunction, KeyedProcessBase, UnkeyedProcessBase
from millrace.runtime.elements import Chunk


class ProcessOperator(UnkeyedProcessBase[ProcessFunction]):
    """A ProcessFunction on a stream without keys."""

    def process(self, chunk: Chunk, input: int) -> None:
        self.run(chunk, self.function.process_element)


class KeyedProcessOperator(KeyedProcessBase[KeyedProcessFunction]):
    """A KeyedProcessFunction: keyed state and timers."""

    def process(self, chunk: Chunk, input: int) -> None:
        self.run(chunk, self.function.process_element)


class BatchKeyedProcessOperator(OneKeyAtATime, KeyedProcessOperator):
    """The same in batch mode."""

    def method_of(self, input: int) -> ElementFunction:
        return self.function.process_element
