"""How the two sides of a window join reach one window operator and stay apart: the exchange tags the elements."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import repeat

from millrace.runtime.elements import Chunk
from millrace.runtime.exchange.partitioners import Hash, PartitioningError
from millrace.runtime.exchange.scatter import Assigner, Scatter


@dataclass(frozen=True)
class TaggedHash(Hash):
    """By key; what arrives is (tag, element)."""

    tag: int = 0

    def assigner(self, subtask: int, senders: int, receivers: int) -> Assigner:
        return _Tagging(super().assigner(subtask, senders, receivers), self.tag)


class _Tagging(Assigner):
    def __init__(self, untagged: Assigner, tag: int) -> None:
        self._untagged = untagged
        self._tag = tag

    def assign(self, chunk: Chunk) -> Chunk:
        assigned = self._untagged.assign(chunk)
        return Chunk(list(zip(repeat(self._tag), assigned.values)), assigned.timestamps, assigned.keys)

    def scatter(self, gathered: Chunk) -> Scatter:
        try:
            return self._untagged.scatter(gathered)
        except PartitioningError as error:
            _, element = error.element
            raise PartitioningError(element, str(error), error.origin) from error.__cause__
