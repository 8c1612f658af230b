"""A stream whose elements are computed once and then read by later jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from millrace.common.typeinfo import TypeInformation
from millrace.connectors.result_cache import ResultCache
from millrace.datastream.data_stream import DataStream, Port

if TYPE_CHECKING:
    from millrace.datastream.stream_execution_environment import StreamExecutionEnvironment

__all__ = ["CachedDataStream"]


class CachedDataStream(DataStream):
    """What ``DataStream.cache`` returns. Its operator is not the user's: methods that change one raise an error."""

    def __init__(
        self,
        env: StreamExecutionEnvironment,
        ports: tuple[Port, ...],
        output_type: TypeInformation | None,
        result: ResultCache,
    ) -> None:
        super().__init__(env, ports, output_type)
        self._result = result

    def _kind(self) -> str | None:
        return "a cached stream"

    def invalidate(self) -> None:
        """Delete the elements; the next job that reads this stream computes and keeps them again."""
        self._result.invalidate()
