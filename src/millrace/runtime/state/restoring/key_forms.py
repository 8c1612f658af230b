"""Compares the form of restored keys with that of new keys. If their kinds differ, no key would find its state, and no
error would show it.
"""

from __future__ import annotations

import decimal
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, TypeAlias

from millrace.common.types import Row
from millrace.runtime.state.address import key_of
from millrace.runtime.state.backend import TIMERS
from millrace.runtime.state.kinds import TABLES
from millrace.runtime.state.restoring.saved import KeyedPieces
from millrace.runtime.state.window_tables import WindowListTable, WindowTable

LOOKED_AT = 64
"""the number of keys of a state, or of a piece of it, that are inspected"""

Form: TypeAlias = "tuple[str, tuple[Form, ...]] | None"
"""What some keys have in common: the kind of value, and the forms of a tuple's items; None: there are no keys, or they
have nothing in common."""

_BY_WINDOW = frozenset({WindowTable.kind, WindowListTable.kind})
_KINDS: tuple[tuple[Any, str], ...] = (
    ((int, float, decimal.Decimal), "number"),  # 1, 1.0 and True are one key
    (str, "str"),
    ((bytes, bytearray), "bytes"),
    (Row, "Row"),
    (tuple, "tuple"),
)


def form_of(keys: Iterable[Any]) -> Form:
    """The form of some keys; keys that are None are ignored."""
    known = [key for key in keys if key is not None]
    kinds = set(map(_kind, known))
    if len(kinds) != 1:
        return None
    kind = kinds.pop()
    if kind not in ("tuple", "Row") or len(set(map(len, known))) != 1:
        return kind, ()
    return f"{kind} of {len(known[0])}", tuple(map(form_of, zip(*map(tuple, known))))


def _kind(key: Any) -> str:
    return next((name for base, name in _KINDS if isinstance(key, base)), type(key).__qualname__)


def differ(before: Form, now: Form) -> bool:
    """Whether no key of one form can equal a key of the other."""
    if before is None or now is None:
        return False
    return before[0] != now[0] or any(map(differ, before[1], now[1]))


def common(one: Form, other: Form) -> Form:
    """The form that keys of both forms have in common."""
    if one is None or other is None or one[0] != other[0]:
        return None
    return one[0], tuple(map(common, one[1], other[1]))


def form_text(form: Form) -> str:
    """A form as text for error messages."""
    if form is None:
        return "anything"
    kind, parts = form
    return f"{kind} ({', '.join(map(form_text, parts))})" if parts else kind


class RestoredKeys:
    """Finds the form of the keys of one subtask's state while it is restored."""

    def __init__(self) -> None:
        self._keys: list[Any] = []

    def watch(self, pieces: KeyedPieces) -> Iterator[dict[str, Any]]:
        """Passes the pieces on unchanged, and inspects some of their keys."""
        for piece in pieces:
            for kind, entries in piece.values():
                self._keys += islice(_keys(kind, entries), LOOKED_AT)
            yield piece

    @property
    def form(self) -> Form:
        return form_of(self._keys)


def _keys(kind: str, entries: Any) -> Iterator[Any]:
    """The keys in the states of functions and windows; the state of queries has its own check."""
    if kind in _BY_WINDOW:
        yield from (key for entry in entries.values() if isinstance(entry, tuple) for key in entry[1])
    elif kind == TIMERS:
        yield from (key_of(address) for _, address in entries)
    elif kind in TABLES:
        yield from map(key_of, entries)
