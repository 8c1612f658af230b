"""``DelegatingSource``: a source under another name, with other methods to set it up."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

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
