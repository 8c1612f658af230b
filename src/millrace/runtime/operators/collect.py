"""Ends of a stream whose elements travel to the driver in the ack: ``print`` and ``execute_and_collect``."""

from __future__ import annotations

from millrace.common.text import printer
from millrace.common.typeinfo import TypeInformation
from millrace.runtime.bases.base import Operator
from millrace.runtime.elements import Chunk
from millrace.runtime.pickling import dumps, first_unpicklable
from millrace.runtime.protocol.results import Result, ResultFiles, Results


class PrintOperator(Operator):
    """``DataStream.print``: Flink's line format, ``identifier:subtask> text``."""

    def __init__(self, identifier: str | None, element_type: TypeInformation | None) -> None:
        self._identifier = identifier
        self._element_type = element_type
        self._lines: list[str] = []

    def open(self) -> None:
        self._text = str if self._element_type is None else printer(self._element_type)
        runtime = self.context.runtime
        parts = [self._identifier] if self._identifier else []
        if runtime.get_number_of_parallel_subtasks() > 1:
            parts.append(str(runtime.get_index_of_this_subtask() + 1))
        self._prefix = ":".join(parts) + "> " if parts else ""

    def process(self, chunk: Chunk, input: int) -> None:
        prefix, text = self._prefix, self._text
        self._lines.extend([prefix + text(value) for value in chunk.values])

    def take_lines(self) -> tuple[str, ...]:
        lines, self._lines = tuple(self._lines), []
        return lines


class CollectOperator(Operator):
    """``DataStream.execute_and_collect``."""

    def __init__(self) -> None:
        self._results = Results(None)
        self.most: int | None = None
        """so many results at most wait to be taken before it wants no more elements; None: any number"""

    def fitting(self, elements: int) -> int:
        return elements if self.most is None or len(self._results) < self.most else 0

    def begin_epoch(self, files: ResultFiles | None) -> None:
        """:param files: of this run of the task."""
        self._results = Results(files)

    def process(self, chunk: Chunk, input: int) -> None:
        # Pickled here, so that a value that can't travel is named with its operator and not lost in the ack.
        try:
            part = dumps(chunk.values)
        except Exception as error:
            element = first_unpicklable(chunk.values)
            raise self.context.error(error, element, " to send results to the client") from error
        self._results.add(part)

    def take_results(self) -> tuple[Result, ...]:
        return self._results.take()
