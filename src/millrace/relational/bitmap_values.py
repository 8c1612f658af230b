"""The values of BITMAP: bytes in the portable form of Roaring bitmaps, as pyroaring reads them, and their text."""

from __future__ import annotations

from typing import Any

_LONGEST = 1_000_000
"""characters of BITMAP_TO_STRING; longer ones end in ,...}"""


def bitmap_class() -> Any:
    """pyroaring's class of bitmaps.

    :raises ImportError: it is not installed.
    """
    try:
        from pyroaring import BitMap
    except ImportError as error:
        raise ImportError("functions of BITMAPs need pyroaring: pip install 'millrace-streaming[bitmap]'") from error
    return BitMap


def read_bitmap(data: bytes) -> Any:
    """The bitmap that these bytes are.

    :raises ImportError: pyroaring is not installed.
    """
    return bitmap_class().deserialize(data)


def bitmap_text(data: bytes) -> str:
    """The numbers of a bitmap as text: without sign, in order, ``{1,2,3}``."""
    numbers = read_bitmap(data)
    text = ",".join(map(str, numbers[: _LONGEST // 2]))
    if len(numbers) <= _LONGEST // 2 and len(text) <= _LONGEST:
        return "{" + text + "}"
    return "{" + text[: text.rfind(",", 0, _LONGEST)] + ",...}"
