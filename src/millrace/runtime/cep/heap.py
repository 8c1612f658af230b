"""A binary heap whose ties come out as those of Java's ``PriorityQueue``: the order of matches depends on it.

Entries are compared by their ``order`` alone, so ``heapq`` (which also sifts in another way) will not do.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Order = Callable[[Any], Any]


def push(heap: list[Any], entry: Any, order: Order) -> None:
    """Add an entry."""
    place, key = len(heap), order(entry)
    heap.append(entry)
    while place:
        parent = (place - 1) >> 1
        if not key < order(heap[parent]):
            break
        heap[place] = heap[parent]
        place = parent
    heap[place] = entry


def pop(heap: list[Any], order: Order) -> Any:
    """Take the first entry out; there must be one."""
    first, last = heap[0], heap.pop()
    if heap:
        _sift_down(heap, 0, last, order)
    return first


def heapify(heap: list[Any], order: Order) -> None:
    """Make a heap of entries in any order."""
    for place in range((len(heap) >> 1) - 1, -1, -1):
        _sift_down(heap, place, heap[place], order)


def _sift_down(heap: list[Any], place: int, entry: Any, order: Order) -> None:
    key, size = order(entry), len(heap)
    while (child := 2 * place + 1) < size:
        right = child + 1
        if right < size and order(heap[right]) < order(heap[child]):
            child = right
        if not order(heap[child]) < key:
            break
        heap[place] = heap[child]
        place = child
    heap[place] = entry
