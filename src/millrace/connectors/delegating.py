"""Sources and sinks under other names, with other methods to set them up."""

from __future__ import annotations

import copy
from abc import abstractmethod
from typing import Any

from millrace.common.sink import Committer, Sink, SinkWriter, WriterInitContext
from millrace.common.source import Boundedness, Source, SourceReaderContext, SplitEnumeratorContext


class DelegatingSource(Source[Any, Any]):
    """Does what ``_source`` does."""

    @property
    @abstractmethod
    def _source(self) -> Source[Any, Any]:
        """The source, as it was set up."""

    def get_boundedness(self) -> Boundedness:
        return self._source.get_boundedness()

    def create_enumerator(self, context: SplitEnumeratorContext[Any], checkpoint: Any = None) -> Any:
        return self._source.create_enumerator(context, checkpoint)

    def create_reader(self, context: SourceReaderContext) -> Any:
        return self._source.create_reader(context)

    def get_produced_type(self) -> Any:
        return self._source.get_produced_type()


class DelegatingSink(Sink[Any]):
    """Does what ``_sink`` does."""

    _sink: Sink[Any]

    def for_operator(self, uid: str) -> DelegatingSink:
        named = copy.copy(self)
        named._sink = self._sink.for_operator(uid)
        return named

    def create_writer(self, context: WriterInitContext) -> SinkWriter[Any]:
        return self._sink.create_writer(context)

    def create_committer(self) -> Committer[Any] | None:
        return self._sink.create_committer()
