"""``HybridSource`` and its builder (Flink's classes, which PyFlink lacks)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from millrace.common.source import Boundedness, Source, SourceReaderContext, SplitEnumeratorContext
from millrace.connectors.hybrid.reader import HybridReader
from millrace.connectors.hybrid.switching import AnySource, HybridEnumerator, HybridState, SourceFactory


@dataclass(frozen=True)
class _Entry:
    """One of the sources."""

    source: AnySource | None
    factory: SourceFactory | None
    boundedness: Boundedness


class HybridSource(Source[Any, Any]):
    """Reads a list of sources, each when all readers are through with the one before. All but the last one end.

        HybridSource.builder(files).add_source(log).build()

    A source may be made when its turn comes, from what the enumerator of the one before knows:

        HybridSource.builder(files).add_source(lambda switch: log_from(switch.get_previous_enumerator().end)).build()

        >>> source = HybridSource.builder(NumberSequenceSource(1, 2)).add_source(NumberSequenceSource(5, 6)).build()
        >>> both = env.from_source(source, WatermarkStrategy.no_watermarks(), "both").set_parallelism(1)
        >>> list(both.execute_and_collect())
        [1, 2, 5, 6]
    """

    def __init__(self, entries: Sequence[_Entry]) -> None:
        self._entries = tuple(entries)

    @staticmethod
    def builder(first_source: AnySource) -> HybridSourceBuilder:
        """Begin with this source."""
        return HybridSourceBuilder().add_source(first_source)

    def get_boundedness(self) -> Boundedness:
        return self._entries[-1].boundedness

    def arrives_over_time(self) -> bool:
        return any(entry.source is None or entry.source.arrives_over_time() for entry in self._entries)

    def create_enumerator(
        self, context: SplitEnumeratorContext[Any], checkpoint: HybridState | None = None
    ) -> HybridEnumerator:
        return HybridEnumerator([entry.source or entry.factory for entry in self._entries], context, checkpoint)  # type: ignore[misc]

    def create_reader(self, context: SourceReaderContext) -> HybridReader:
        return HybridReader([entry.source for entry in self._entries], context)

    def for_readers(self) -> HybridSource:
        """Without factories, which only the enumerator calls."""
        return HybridSource(
            [
                replace(entry, source=None if entry.source is None else entry.source.for_readers(), factory=None)
                for entry in self._entries
            ]
        )

    def get_produced_type(self) -> Any:
        source = self._entries[0].source
        return None if source is None else source.get_produced_type()

    def __repr__(self) -> str:
        return f"HybridSource({', '.join(repr(entry.source or entry.factory) for entry in self._entries)})"


class HybridSourceBuilder:
    """Collects the sources in their order.

        >>> HybridSource.builder(NumberSequenceSource(1, 2)).build()
        HybridSource(NumberSequenceSource(1, 2))
    """

    def __init__(self) -> None:
        self._entries: list[_Entry] = []

    def add_source(
        self, source: AnySource | SourceFactory, boundedness: Boundedness = Boundedness.BOUNDED
    ) -> HybridSourceBuilder:
        """Go on with this source, or with the one that a factory makes from a ``SourceSwitchContext``.

        :param boundedness: of what the factory makes; a source knows it itself.
        """
        if self._entries and self._entries[-1].boundedness is not Boundedness.BOUNDED:
            raise ValueError("a source that never ends can only be the last one of a HybridSource")
        if isinstance(source, Source):
            self._entries.append(_Entry(source, None, source.get_boundedness()))
        elif callable(source):
            self._entries.append(_Entry(None, source, boundedness))
        else:
            raise TypeError(f"add_source() needs a Source or a function that makes one, not {source!r}")
        return self

    def build(self) -> HybridSource:
        """The source of all that was added."""
        return HybridSource(self._entries)
