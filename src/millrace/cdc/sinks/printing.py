"""``type: values`` and ``type: print``: changes as lines of text on standard output."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from millrace.cdc.definition.end_options import EndOptions
from millrace.cdc.definition.model import End
from millrace.cdc.operators.elements import Batch, SinkElement
from millrace.cdc.rules.layout import CreateSinkTable
from millrace.cdc.sinks.base import PipelineSink
from millrace.cdc.sinks.event_text import texts_of
from millrace.common.functions import FlatMapFunction
from millrace.common.typeinfo import Types

if TYPE_CHECKING:
    from millrace.datastream import DataStream

_OPTIONS = ("print.enabled", "error.on.schema.change")


class Texts(FlatMapFunction):
    """A line for each change."""

    def __init__(self, refuses_changes: bool) -> None:
        self._refuses = refuses_changes

    def flat_map(self, value: SinkElement) -> Iterator[str]:
        element = value if isinstance(value, Batch) else value.event
        if self._refuses and not isinstance(element, (Batch, CreateSinkTable)):
            raise RuntimeError(f"the sink takes no changes of schemas ('error.on.schema.change'): {element}")
        return texts_of(element)


class PrintingSink(PipelineSink):
    def __init__(self, end: End) -> None:
        options = EndOptions(end, _OPTIONS)
        self._prints = options.flag("print.enabled", True)
        self._refuses = options.flag("error.on.schema.change")

    def attach(self, stream: DataStream) -> Any:
        texts = stream.flat_map(Texts(self._refuses), Types.STRING()).name("Texts")
        if not self._prints:
            return texts.filter(lambda text: False).name("Nothing is printed").print()
        return texts.print()
