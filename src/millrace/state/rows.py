"""Which columns of a file are shown, under which names, in which order."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pyarrow as pa

from millrace.runtime.state.backend import EVENT_TIMERS, TIMERS
from millrace.runtime.state.info import OPERATOR
from millrace.runtime.state.operator_state import Distribution
from millrace.runtime.windows.aligned_window import SLICES
from millrace.state.opened import Piece
from millrace.state.shapes import Nothing, Shape, shape_of, type_of, unify

__all__ = ["added", "columns_of", "described_columns", "shapes_of", "stored_name"]

Described = dict[str, Any]

_ORDER = (
    "subtask",
    "key",
    "namespace",
    "window_start",
    "window_end",
    "slice_end",
    "domain",
    "timestamp",
    "position",
    "map_key",
    "last_access",
    "value",
)
_LISTS = frozenset({"list", "TTL list", "window lists"})
_NOT_SHOWN = frozenset({"registration"})
_POSITION: Described = {"form": "int"}


def described_columns(piece: Piece) -> dict[str, Described]:
    """The columns of the file that are shown, and how they were encoded."""
    shown = {_shown_name(piece, name): column for name, column in piece.columns.items() if name not in _NOT_SHOWN}
    if piece.kind in _LISTS:
        shown["position"] = _POSITION
    return shown


def _shown_name(piece: Piece, name: str) -> str:
    return "slice_end" if piece.state == SLICES and name == "window_end" else name


def stored_name(name: str) -> str:
    """The name that a shown column has in the file."""
    return "window_end" if name == "slice_end" else name


def added(piece: Piece) -> dict[str, tuple[Any, Described]]:
    """Columns that are the same for all rows of a file, so that it does not have them: values and descriptions."""
    if piece.kind == TIMERS:
        return {"domain": ("event" if piece.state == EVENT_TIMERS else "processing", {"form": "str"})}
    if piece.scope == OPERATOR and piece.kind != Distribution.BROADCAST.value:
        return {"subtask": (piece.subtask, {"form": "int"})}
    return {}


def columns_of(piece: Piece, rows: Any) -> dict[str, tuple[Any, Described]]:
    """The columns that are shown, as arrays with their descriptions."""
    found = {name: (rows[stored_name(name)], described) for name, described in described_columns(piece).items()}
    for name, (value, described) in added(piece).items():
        found[name] = (pa.array([value] * len(rows), type_of(shape_of(described))), described)
    return found


def shapes_of(pieces: Iterable[Piece]) -> list[tuple[str, Shape]]:
    """The columns of pieces together, in the order in which they are shown; those of a value, if there is nothing."""
    found: dict[str, list[Shape]] = {}
    for piece in pieces:
        described = {**described_columns(piece), **{name: column for name, (_, column) in added(piece).items()}}
        for name, column in described.items():
            found.setdefault(name, []).append(shape_of(column))
    if not found:
        return [("key", Nothing()), ("value", Nothing())]
    return [(name, unify(found[name])) for name in sorted(found, key=_ORDER.index)]
