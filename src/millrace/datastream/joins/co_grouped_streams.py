"""``DataStream.co_group``: the elements of two streams by key and window, both groups at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from millrace.common.functions import CoGroupFunction
from millrace.common.functions.adapt import as_co_group
from millrace.common.typeinfo import TypeInformation
from millrace.datastream.data_stream import DataStream, _function
from millrace.datastream.joins.join_functions import CoGroupWindow
from millrace.datastream.joins.paired_streams import PairedStreams, WithWindow

__all__ = ["CoGroupedStreams"]


class CoGroupWindows(WithWindow):
    """A co-group with its keys and windows."""

    def apply(
        self,
        function: CoGroupFunction | Callable[[Iterable[Any], Iterable[Any]], Iterable[Any] | None],
        output_type: TypeInformation | None = None,
    ) -> DataStream:
        """Call the function with all elements of each key and window: those of the first stream, those of the second.

        Results have the last timestamp of the window.
        """
        co_group = _function(as_co_group, function, "apply()")
        return self._windows.apply(CoGroupWindow(co_group), output_type)


class CoGroupedStreams(PairedStreams[CoGroupWindows]):
    """Two streams that are grouped together: ``where()``, ``equal_to()``, ``window()`` and ``apply()`` follow."""

    _with_window = CoGroupWindows

    def __init__(self, stream1: DataStream, stream2: DataStream) -> None:
        super().__init__(stream1, stream2, "co_group()")
