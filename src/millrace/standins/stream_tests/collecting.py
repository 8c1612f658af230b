"""A sink that brings elements and their texts to the process of the program."""

from __future__ import annotations

import copy
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from millrace.common.sink import Committer, Sink, SinkWriter, SinkWriterContext, WriterInitContext
from millrace.common.text import Formatter, formatter
from millrace.common.typeinfo import TypeInformation

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["CollectingSink"]


@dataclass
class _Taken:
    """What a sink has brought."""

    pairs: list[tuple[str, Any]] = field(default_factory=list)
    seen: set[tuple[str, int, int]] = field(default_factory=set)


_TAKEN: dict[str, _Taken] = {}
"""by the sink's key"""


@dataclass(frozen=True)
class _Part:
    """What one subtask was given in one epoch."""

    sink: str
    job: str
    epoch: int
    subtask: int
    pairs: list[tuple[str, Any]]


class _Keeper(Committer[_Part]):
    """Runs in the process of the program."""

    def commit(self, committables: Sequence[_Part]) -> None:
        for part in committables:
            taken = _TAKEN.setdefault(part.sink, _Taken())
            name = (part.job, part.epoch, part.subtask)
            if name not in taken.seen:  # a commit may come twice
                taken.seen.add(name)
                taken.pairs += part.pairs


class _Writer(SinkWriter[Any]):
    def __init__(self, sink: str, context: WriterInitContext, text: Formatter) -> None:
        self._sink = sink
        self._context = context
        self._text = text
        self._pairs: list[tuple[str, Any]] = []

    def write(self, element: Any, context: SinkWriterContext) -> None:
        self._pairs.append((self._text(element), element))

    def prepare_commit(self) -> list[Any]:
        pairs, self._pairs = self._pairs, []
        of = self._context
        number = (of.get_job_id(), of.get_checkpoint_id(), of.get_index_of_subtask())
        return [_Part(self._sink, *number, pairs)] if pairs else []


class CollectingSink(Sink[Any]):
    """Can be written to by several programs, one after another."""

    def __init__(self) -> None:
        self._key = uuid.uuid4().hex
        self._type: TypeInformation | None = None

    def for_input_type(self, type_info: TypeInformation) -> Self:
        typed = copy.copy(self)
        typed._type = type_info
        return typed

    def create_writer(self, context: WriterInitContext) -> SinkWriter[Any]:
        return _Writer(self._key, context, str if self._type is None else formatter(self._type))

    def create_committer(self) -> Committer[Any]:
        return _Keeper()

    def take(self) -> list[tuple[str, Any]]:
        """Texts and values that have come, which are forgotten."""
        taken = _TAKEN.get(self._key)
        if taken is None:
            return []
        pairs, taken.pairs = taken.pairs, []
        return pairs
