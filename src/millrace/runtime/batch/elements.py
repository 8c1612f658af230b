"""Elements of one keyed operator's inputs, brought together by key."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, repeat
from typing import NamedTuple

from millrace.runtime.batch.columns import MANY, Columns, compact, take
from millrace.runtime.batch.grouping import Groups, groups_of
from millrace.runtime.elements import Chunk
from millrace.runtime.exchange.codec import Packed

ROUND = 16_384
"""Elements that an operator gets at once, if the keys are small."""


class KeyedChunk(NamedTuple):
    """Elements of one key after the other, for an operator of batch mode."""

    chunk: Chunk
    inputs: list[int] | None
    """the input of each element; None: all of input 0"""
    complete: bool
    """whether nothing more comes for any of its keys; else its last key goes on"""


class Elements:
    """Elements in the order of their arrival, those of input 0 first."""

    def __init__(self) -> None:
        self._columns = Columns()
        self._second: int | None = None
        """where input 1 begins; None: it has nothing"""

    def add(self, input: int, elements: Packed) -> None:
        """Add elements. Inputs come in their order."""
        if input and self._second is None:
            self._second = len(self._columns)
        self._columns.add(elements)

    def by_key(self) -> Iterator[KeyedChunk]:
        """All elements, one key after the other in the order of their first elements.

        Those of a key are in the order of time, as Flink's batch mode has them; those of the same time, or without, in
        the order of inputs and arrival. One object stands for all elements' key.
        """
        elements = self._columns.whole()
        if not elements.keys:
            return
        groups = groups_of(elements.keys, elements.timestamps)
        if len(elements.keys) >= MANY:
            elements = compact(elements)
        for part in groups.rounds(ROUND):
            yield self._take(elements, part)

    def _take(self, elements: Packed, part: Groups) -> KeyedChunk:
        taken = take(elements._replace(keys=None), part.places)
        firsts = map((elements.keys or []).__getitem__, part.firsts())
        keys = list(chain.from_iterable(map(repeat, firsts, part.sizes())))
        inputs = None if self._second is None else [int(place >= self._second) for place in part.places]
        return KeyedChunk(Chunk(taken.values(), taken.timestamps, keys), inputs, True)
