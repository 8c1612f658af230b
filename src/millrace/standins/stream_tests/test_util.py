"""``pyflink.datastream.tests.test_util``: a sink whose elements a test reads back.

It collects elements and their texts in the process of the program.
"""

from __future__ import annotations

import copy
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from millrace.common.sink import Committer, Sink, SinkWriter, SinkWriterContext, WriterInitContext
from millrace.common.text import Formatter, formatter
from millrace.common.typeinfo import TypeInformation
from millrace.common.watermark_strategy import TimestampAssigner

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["DataStreamTestSinkFunction", "SecondColumnTimestampAssigner"]


@dataclass
class _Taken:
    """The elements that a sink has collected."""

    pairs: list[tuple[str, Any]] = field(default_factory=list)
    seen: set[tuple[str, int, int]] = field(default_factory=set)


_TAKEN: dict[str, _Taken] = {}
"""collected elements by the sink's key"""


@dataclass(frozen=True)
class _Part:
    """The elements of one subtask in one epoch."""

    sink: str
    job: str
    epoch: int
    subtask: int
    pairs: list[tuple[str, Any]]


class _Keeper(Committer[_Part]):
    """Collects elements, in the process of the program."""

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
    """A sink that collects elements. Several programs may write to it, one after another."""

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
        """Remove and return the texts and values that were collected."""
        taken = _TAKEN.get(self._key)
        if taken is None:
            return []
        pairs, taken.pairs = taken.pairs, []
        return pairs


class DataStreamTestSinkFunction(CollectingSink):
    """A sink function that collects its elements in the process of the program."""

    def get_results(self, is_python_object: bool = False, stringify: bool = True) -> list[Any]:
        """What came since the last call.

        :param is_python_object: the values as Python has them, not the text that Java would have for them.
        :param stringify: their ``str()``.
        """
        pairs = self.take()
        if not is_python_object:
            return [text for text, _ in pairs]
        return [str(value) if stringify else value for _, value in pairs]

    def clear(self) -> None:
        self.take()


class SecondColumnTimestampAssigner(TimestampAssigner):
    """The element's second field is its timestamp (ms)."""

    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return int(value[1])
