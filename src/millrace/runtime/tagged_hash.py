"""How the two sides of a window join reach one window operator and stay apart: the exchange tags the elements."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import repeat

from millrace.runtime.elements import Chunk
from millrace.runtime.partitioners import Hash, Router


@dataclass(frozen=True)
class TaggedHash(Hash):
    """By key; what arrives is (tag, element)."""

    tag: int = 0

    def router(self, subtask: int, senders: int, receivers: int) -> Router:
        route, tag = super().router(subtask, senders, receivers), self.tag

        def split(chunk: Chunk) -> Iterator[tuple[int, Chunk]]:
            for target, part in route(chunk):
                yield target, Chunk(list(zip(repeat(tag), part.values)), part.timestamps, part.keys)

        return split
