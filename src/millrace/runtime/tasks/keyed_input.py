"""What arrives for one keyed operator in a batch job, and is given to it key by key when all of it is there.

Memory is bounded: what is more goes to a file that is cut by a hash of the keys, and is then handled part by part. A
part that is still too large is cut again by another hash.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator
from typing import Any

from millrace.runtime.bases.by_key import ByKey
from millrace.runtime.batch.buckets import LEVELS, Buckets, Part
from millrace.runtime.batch.columns import take
from millrace.runtime.batch.elements import Elements, KeyedChunk
from millrace.runtime.batch.one_key import in_order
from millrace.runtime.elements import Chunk
from millrace.runtime.exchange.codec import Mark, Packed, decode_columns
from millrace.runtime.tasks.waiting import Channel
from millrace.runtime.tasks.wiring import Gate

HOLD_BYTES = 8 * 1024 * 1024
"""Encoded elements that are in memory at a time; as objects they are twenty times as large, or more."""


class KeyedInput(ABC):
    """The keyed inputs of one operator, or one part of them.

    :param hold: how much of them may be in memory (bytes, encoded).
    :param level: how often they have been cut.
    """

    def __init__(self, gate: Gate, hold: int, level: int = 0) -> None:
        assert isinstance(gate.operator, ByKey)
        self._gate = gate
        self._operator: ByKey = gate.operator
        self._hold = hold
        self._level = level
        self._cut: Buckets | None = None
        """what is too much for memory"""
        self._marks: list[tuple[Channel, Mark]] = []
        """what the channels said between their elements: for the end, where a batch job has all of it"""

    @abstractmethod
    def add(self, payload: bytes, input: int, channel: Channel | None = None) -> None:
        """Elements of a channel, or of the file of a larger part."""

    @abstractmethod
    def _finish(self) -> Iterator[None]:
        """Handle what is in memory; after that all else is in the file."""

    def run(self) -> Iterator[None]:
        """Everything has arrived: handle it. Control comes back now and then, so that results can go on."""
        try:
            yield from self._finish()
            if self._cut is not None:
                for part in self._cut.parts():
                    yield from self._run_part(part)
            for channel, mark in self._marks:
                self._gate.mark(channel, mark)
                yield
        finally:
            self.close()

    def _run_part(self, part: Part) -> Iterator[None]:
        deeper = type(self)(self._gate, self._hold, self._level + 1)
        try:
            for input, payload in part.payloads():
                deeper.add(payload, input)
            yield from deeper.run()
        finally:
            deeper.close()

    def close(self) -> None:
        """Delete what is in files."""
        if self._cut is not None:
            self._cut.close()

    def _decoded(self, payload: bytes, channel: Channel | None) -> Packed:
        elements, marks = decode_columns(payload)
        if channel is not None:
            self._marks += [(channel, mark) for _, mark in marks]
        return elements

    def _put_aside(self, input: int, elements: Packed, size: int) -> None:
        if not elements.keys:
            return
        if self._cut is None:
            self._cut = Buckets(self._level, elements.keys)
        self._cut.add(input, elements, size)


class HeldInput(KeyedInput):
    """For operators that take one key after the other: nothing is handled before all of it is there."""

    def __init__(self, gate: Gate, hold: int, level: int = 0) -> None:
        super().__init__(gate, hold, level)
        self._held: list[tuple[bytes, int, Channel | None]] = []
        self._size = 0

    def add(self, payload: bytes, input: int, channel: Channel | None = None) -> None:
        self._held.append((payload, input, channel))
        self._size += len(payload)
        if self._size > self._hold and self._level + 1 < LEVELS:
            self._spill()

    def _spill(self) -> None:
        for payload, input, channel in self._held:
            self._put_aside(input, self._decoded(payload, channel), len(payload))
        self._held, self._size = [], 0

    def _finish(self) -> Iterator[None]:
        if self._cut is not None:
            self._spill()
            return
        elements = Elements()
        self._held.sort(key=lambda held: held[1])
        for payload, input, channel in self._held:
            elements.add(input, self._decoded(payload, channel))
        self._held = []
        for keyed in elements.by_key():
            self._give(keyed)
            yield

    def _run_part(self, part: Part) -> Iterator[None]:
        if not part.one_key:
            yield from super()._run_part(part)
            return
        for keyed in in_order(part.payloads(), self._hold):
            self._give(keyed)
            yield

    def _give(self, keyed: KeyedChunk) -> None:
        self._gate.records += len(keyed.chunk)
        self._operator.process_keys(keyed.chunk, keyed.inputs)
        self._operator.keyed_state().after_records(len(keyed.chunk))
        if keyed.complete:
            self._operator.end_keys()


class FoldedInput(KeyedInput):
    """For operators that keep less of a key than its elements, and give its results at the end: what arrives is folded
    at once. When their state has become large they get no new keys; the elements of those are put aside."""

    def __init__(self, gate: Gate, hold: int, level: int = 0) -> None:
        super().__init__(gate, hold, level)
        self._known: Collection[Any] | None = None
        """the keys that the operator has, when it gets no new ones"""

    def add(self, payload: bytes, input: int, channel: Channel | None = None) -> None:
        elements = self._decoded(payload, channel)
        if not elements.keys:
            return
        if self._known is not None:
            self._sort_out(elements, input, self._known, len(payload))
            return
        self._gate.chunk(_chunk(elements), input)
        if self._operator.folded_entries() * len(payload) > self._hold * len(elements.keys):
            self._known = self._operator.folded_keys()

    def _sort_out(self, elements: Packed, input: int, known: Collection[Any], size: int) -> None:
        old: list[int] = []
        new: list[int] = []
        for place, key in enumerate(elements.keys or ()):
            (old if key in known else new).append(place)
        if old:
            self._gate.chunk(_chunk(take(elements, old)), input)
        if new:
            self._put_aside(input, take(elements, new), size)

    def _finish(self) -> Iterator[None]:
        self._operator.end_keys()
        yield


def _chunk(elements: Packed) -> Chunk:
    return Chunk(elements.values(), elements.timestamps, elements.keys)


def keyed_input(gate: Gate, hold: int) -> KeyedInput:
    """What suits the operator behind a gate."""
    assert isinstance(gate.operator, ByKey)
    return (FoldedInput if gate.operator.folds else HeldInput)(gate, hold)
