"""``StreamingFileSink``: the old name of ``FileSink``."""

from __future__ import annotations

import warnings
from typing import Any

from millrace.common.serialization import BulkWriterFactory
from millrace.connectors.file_system.rolling import RollingPolicy
from millrace.connectors.file_system.sink import BulkFormatBuilder, FileSink, FileSinkBuilder, RowFormatBuilder

__all__ = ["StreamingFileSink"]


class StreamingFileSink(FileSink[Any]):
    """``FileSink`` under its old name and with its old builders' names; ``add_sink`` and ``sink_to`` both take it.

        >>> import warnings
        >>> with warnings.catch_warnings():
        ...     warnings.simplefilter("ignore", DeprecationWarning)
        ...     sink = StreamingFileSink.for_row_format("out", Encoder.simple_string_encoder()).build()
        >>> written = env.from_collection(["a"]).add_sink(sink)
    """

    def __init__(self, builder: FileSinkBuilder[Any]) -> None:
        warnings.warn("Deprecated in 1.15. Use FileSink instead.", DeprecationWarning, stacklevel=3)
        super().__init__(builder)

    @staticmethod
    def for_row_format(base_path: str, encoder: Any) -> DefaultRowFormatBuilder:
        return DefaultRowFormatBuilder(base_path, encoder)

    @staticmethod
    def for_bulk_format(base_path: str, writer_factory: BulkWriterFactory) -> DefaultBulkFormatBuilder:
        return DefaultBulkFormatBuilder(base_path, writer_factory)


class DefaultRowFormatBuilder(RowFormatBuilder[Any]):
    """Configures a ``StreamingFileSink`` of encoded rows."""

    def with_rolling_policy(self, policy: RollingPolicy) -> DefaultRowFormatBuilder:
        super().with_rolling_policy(policy)
        return self

    def build(self) -> StreamingFileSink:
        return StreamingFileSink(self)


class DefaultBulkFormatBuilder(BulkFormatBuilder[Any]):
    """Configures a ``StreamingFileSink`` of a bulk format."""

    def with_rolling_policy(self, policy: RollingPolicy) -> DefaultBulkFormatBuilder:
        super().with_rolling_policy(policy)
        return self

    def build(self) -> StreamingFileSink:
        return StreamingFileSink(self)


StreamingFileSink.BaseBuilder = FileSinkBuilder  # type: ignore[attr-defined]
StreamingFileSink.DefaultRowFormatBuilder = DefaultRowFormatBuilder  # type: ignore[attr-defined]
StreamingFileSink.DefaultBulkFormatBuilder = DefaultBulkFormatBuilder  # type: ignore[attr-defined]
