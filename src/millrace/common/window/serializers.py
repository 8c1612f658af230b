"""The binary forms of windows, as PyFlink writes them: big-endian longs."""

from __future__ import annotations

from io import BytesIO
from struct import Struct

from millrace.common.serializer import TypeSerializer
from millrace.common.window.windows import CountWindow, GlobalWindow, TimeWindow

__all__ = ["TimeWindowSerializer", "CountWindowSerializer", "GlobalWindowSerializer"]

_LONG = Struct(">q")
_TWO_LONGS = Struct(">qq")


class TimeWindowSerializer(TypeSerializer[TimeWindow]):
    """16 bytes: start, end.

        >>> serializer = TimeWindowSerializer()
        >>> isinstance(serializer, TypeSerializer)
        True
    """

    def serialize(self, element: TimeWindow, stream: BytesIO) -> None:
        """Write a window to a stream of bytes."""
        stream.write(_TWO_LONGS.pack(element.start, element.end))

    def deserialize(self, stream: BytesIO) -> TimeWindow:
        """Read a window from a stream of bytes."""
        return TimeWindow(*_TWO_LONGS.unpack(stream.read(_TWO_LONGS.size)))


class CountWindowSerializer(TypeSerializer[CountWindow]):
    """8 bytes: the id.

        >>> isinstance(CountWindowSerializer(), TypeSerializer)
        True
    """

    def serialize(self, element: CountWindow, stream: BytesIO) -> None:
        """Write a window to a stream of bytes."""
        stream.write(_LONG.pack(element.id))

    def deserialize(self, stream: BytesIO) -> CountWindow:
        """Read a window from a stream of bytes."""
        return CountWindow(*_LONG.unpack(stream.read(_LONG.size)))


class GlobalWindowSerializer(TypeSerializer[GlobalWindow]):
    """One byte, 0.

        >>> isinstance(GlobalWindowSerializer(), TypeSerializer)
        True
    """

    def serialize(self, element: GlobalWindow, stream: BytesIO) -> None:
        """Write a window to a stream of bytes."""
        stream.write(b"\0")

    def deserialize(self, stream: BytesIO) -> GlobalWindow:
        """Read a window from a stream of bytes."""
        stream.read(1)
        return GlobalWindow.get()
