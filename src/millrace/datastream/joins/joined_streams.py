"""``DataStream.join``: pairs of elements of two streams with the same key in the same window."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from millrace.common.functions import FlatJoinFunction, JoinFunction
from millrace.common.functions.adapt import as_join
from millrace.common.typeinfo import TypeInformation
from millrace.datastream.data_stream import DataStream, _function
from millrace.datastream.joins.join_functions import CoGroupWindow, EachPair, EachPairFlat
from millrace.datastream.joins.paired_streams import PairedStreams, WithWindow

__all__ = ["JoinedStreams"]


class JoinWindows(WithWindow):
    """A window join with its keys and windows."""

    def apply(
        self,
        function: JoinFunction | FlatJoinFunction | Callable[[Any, Any], Any],
        output_type: TypeInformation | None = None,
    ) -> DataStream:
        """Call the function for each pair of elements of the same key and window; a callable gives one result.

        It is an inner join: an element without a partner in its window gives nothing. Results have the last timestamp
        of the window.
        """
        join = _function(as_join, function, "apply()")
        pairs = EachPairFlat(join) if isinstance(join, FlatJoinFunction) else EachPair(join)
        return self._windows.apply(CoGroupWindow(pairs), output_type)


class JoinedStreams(PairedStreams[JoinWindows]):
    """Two streams that are joined: ``where()``, ``equal_to()``, ``window()`` and ``apply()`` follow."""

    _with_window = JoinWindows

    def __init__(self, stream1: DataStream, stream2: DataStream) -> None:
        super().__init__(stream1, stream2, "join()")
