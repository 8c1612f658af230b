"""The contents of open windows, under the windows that they belong to now.

The windows of an operator that merges them keep their contents under the window that these were first stored for;
another state tells which window that has become.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import pyarrow as pa

from millrace.checkpoint.savepoints.state_rows import implode
from millrace.checkpoint.values.classes import Classes
from millrace.checkpoint.values.columns import decode
from millrace.common.window import TimeWindow
from millrace.runtime.coordination.snapshot import OperatorPlace
from millrace.runtime.state.info import KEYED
from millrace.runtime.windows.aligned_window import SLICES
from millrace.runtime.windows.strategy import CONTENTS
from millrace.runtime.windows.window import MERGING
from millrace.state.opened import Opened, Piece

__all__ = ["WINDOWS", "window_pieces"]

WINDOWS = (CONTENTS, SLICES)
"""the states that hold what is in windows"""

Merged = dict[tuple[Any, Any], Any]
"""(key, window of the contents) -> window"""


def window_pieces(opened: Opened, place: OperatorPlace) -> Iterator[Piece]:
    """The contents of windows, subtask by subtask."""
    merging: dict[int, list[Piece]] = {}
    for piece in opened.pieces(place, KEYED, (MERGING,)):
        merging.setdefault(piece.subtask, []).append(piece)
    for piece in opened.pieces(place, KEYED, WINDOWS):
        names = merging.get(piece.subtask, ())
        if names and "window_start" in piece.columns:
            load = partial(_load, piece, tuple(names), opened.known)
            yield replace(piece, load=load, is_stored_as_shown=False)
        else:
            yield piece


def _load(piece: Piece, merging: Iterable[Piece], known: Classes) -> Any:
    rows = piece.load()
    merged = _merged(merging, known)
    keys = decode(rows["key"], piece.columns["key"], known)
    stored = map(TimeWindow, rows["window_start"].to_pylist(), rows["window_end"].to_pylist())
    windows = [merged.get(at, at[1]) for at in zip(keys, stored)]
    for name, bounds in (("window_start", [w.start for w in windows]), ("window_end", [w.end for w in windows])):
        rows = rows.set_column(rows.schema.get_field_index(name), name, pa.array(bounds, pa.int64()))
    return rows


def _merged(merging: Iterable[Piece], known: Classes) -> Merged:
    found: dict[Any, Any] = {}
    for piece in merging:
        implode(piece.kind, piece.load(), piece.columns, known, found)
    return {
        (key, stored_for): window for key, (_, windows, _) in found.items() for window, stored_for in windows.items()
    }
