"""Elements in a file, cut by a hash of their keys: what is too much for memory, in parts that are not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

from millrace.runtime.batch.columns import Columns, take
from millrace.runtime.batch.grouping import positions
from millrace.runtime.batch.scratch import scratch_file
from millrace.runtime.exchange.codec import Packed

BUCKET_BITS = 6
BUCKETS = 2**BUCKET_BITS
"""Parts of one file; one that is still too large is cut into as many again, and so on."""
HASH_BITS, GOLDEN = 64, 0x9E3779B97F4A7C15
LEVELS = 8
"""How often a part can be cut: beyond that its keys have one and the same hash."""
FLUSH_ELEMENTS, FLUSH_BYTES = 262_144, 4 * 1024 * 1024
"""How much is gathered before all buckets go to the file."""
HEAVY_SHARE = 8
"""A key that has one in so many elements gets a bucket of its own: no hash could cut that further."""


class Segment(NamedTuple):
    """A piece of the file: one encoded chunk."""

    input: int
    offset: int
    size: int


class Part:
    """The elements of one bucket."""

    def __init__(self, file: Any, segments: list[Segment], one_key: bool) -> None:
        self._file = file
        self._segments = segments
        self.one_key = one_key
        """whether all elements are of one key"""

    def payloads(self) -> Iterator[tuple[int, bytes]]:
        """(input, encoded chunk), the inputs one after the other, each in the order of arrival."""
        for segment in sorted(self._segments, key=lambda segment: segment.input):
            self._file.seek(segment.offset)
            yield segment.input, self._file.read(segment.size)


class Buckets:
    """A file of elements, cut by key.

    :param level: how often they were cut before: every level cuts by another hash.
    :param sample: some of the keys.
    """

    def __init__(self, level: int, sample: list[Any]) -> None:
        self._level = level
        self._heavy = _heavy_key(sample)
        self._file = scratch_file()
        self._end = 0
        self._segments: list[list[Segment]] = [[] for _ in range(BUCKETS + 1)]
        self._waiting: dict[tuple[int, int], Columns] = {}
        """(bucket, input) -> elements"""
        self._elements = self._bytes = 0

    def add(self, input: int, elements: Packed, size: int) -> None:
        """Add elements; ``size`` is what they had about when encoded (bytes)."""
        keys = elements.keys or []
        for bucket, places in positions(self._buckets_of(keys)).items():
            waiting = self._waiting.get((bucket, input))
            if waiting is None:
                waiting = self._waiting[bucket, input] = Columns()
            waiting.add(take(elements, places))
        self._elements += len(keys)
        self._bytes += size
        if self._elements >= FLUSH_ELEMENTS or self._bytes >= FLUSH_BYTES:
            self._flush()

    def _buckets_of(self, keys: list[Any]) -> list[int]:
        # Python's own hash will do, since no other process sees the file. It follows equality, as a dict does. Each
        # level takes other bits of its product with the golden ratio: neighbouring numbers are hashes of themselves.
        shift, heavy = HASH_BITS - BUCKET_BITS * (self._level + 1), self._heavy
        buckets = [(hash(key) * GOLDEN >> shift) % BUCKETS for key in keys]
        if heavy:
            buckets = [BUCKETS if key in heavy else bucket for key, bucket in zip(keys, buckets)]
        return buckets

    def _flush(self) -> None:
        for (bucket, input), elements in self._waiting.items():
            payload = elements.whole().encode()
            self._file.write(payload)
            self._segments[bucket].append(Segment(input, self._end, len(payload)))
            self._end += len(payload)
        self._waiting = {}
        self._elements = self._bytes = 0

    def parts(self) -> Iterator[Part]:
        """All that was added, part by part: no key is in two of them."""
        self._flush()
        for bucket, segments in enumerate(self._segments):
            if segments:
                yield Part(self._file, segments, bucket == BUCKETS)

    def close(self) -> None:
        self._file.close()


def _heavy_key(sample: list[Any]) -> frozenset[Any]:
    """The key with most elements, if these are many."""
    [(key, count)] = Counter(sample).most_common(1)
    return frozenset([key]) if count * HEAVY_SHARE >= len(sample) else frozenset()
