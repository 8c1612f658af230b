"""What a sender has for one receiver that has no room for it: elements, and the marks between them."""

from __future__ import annotations

from collections import deque

from millrace.relational.rows import count
from millrace.runtime.elements import Chunk
from millrace.runtime.exchange.codec import Mark
from millrace.runtime.exchange.marks import PlacedMark
from millrace.runtime.exchange.outbox import Gathered
from millrace.runtime.pieces import Cutter, slice_chunk


class Backlog:
    """In order. Of watermarks with nothing between them only the last one is held."""

    def __init__(self) -> None:
        self._items: deque[Chunk | Mark] = deque()
        self._cutter: Cutter | None = None
        """takes the first chunk apart"""
        self.elements = 0

    def __bool__(self) -> bool:
        return bool(self._items)

    def add(self, chunk: Chunk, marks: list[PlacedMark]) -> None:
        """Elements with the marks between them."""
        self.elements += count(chunk.values)
        start = 0
        for position, mark in marks:
            if position > start:
                self._items.append(slice_chunk(chunk, start, position))
                start = position
            self._mark(mark)
        if start < len(chunk.values):
            self._items.append(slice_chunk(chunk, start, None) if start else chunk)

    def _mark(self, mark: Mark) -> None:
        items = self._items
        if items and items[-1].__class__ is int and mark.__class__ is int:
            items.pop()
        items.append(mark)

    def take(self, most: int) -> tuple[Chunk, list[PlacedMark]]:
        """So many elements at most, and the marks up to the next one. The old and the new row of an update stay
        together, so it may be one more."""
        items, taken = Gathered(), 0
        while self._items:
            first = self._items[0]
            if not isinstance(first, Chunk):
                items.mark(first)
                self._items.popleft()
            elif taken >= most:
                break
            else:
                cutter = self._cutter or Cutter(first)
                before = cutter.elements
                items.add(cutter.take(most - taken))
                taken += before - cutter.elements
                self._cutter = cutter if cutter.elements else None
                if not cutter.elements:
                    self._items.popleft()
        self.elements -= taken
        return items.chunk, items.marks
