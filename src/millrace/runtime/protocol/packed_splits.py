"""Many splits on their way to one reader.

A batch job has one epoch, so its order has to carry all splits of a source. Those of one subtask are pickled and
compressed in chunks (paths have much in common): the other tasks, which get the same order, never unpack them.
"""

from __future__ import annotations

import pickle
import zlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from millrace.runtime.pickling import dumps

CHUNK = 1_024
"""splits that are packed together"""


def pack(splits: Sequence[Any]) -> tuple[bytes, ...]:
    """In order, as chunks."""
    starts = range(0, len(splits), CHUNK)
    return tuple(zlib.compress(dumps(tuple(splits[start : start + CHUNK])), 1) for start in starts)


def unpack(chunks: Iterable[bytes]) -> Iterator[Any]:
    """Only for what ``pack`` of this job's driver made."""
    for chunk in chunks:
        yield from pickle.loads(zlib.decompress(chunk))
