"""Where an entry of keyed state lives: under a key, or under a key and a namespace (a window)."""

from __future__ import annotations

from typing import Any, NamedTuple


class Scoped(NamedTuple):
    """The address of state that belongs to a key within a namespace."""

    key: Any
    namespace: Any


def key_of(at: Any) -> Any:
    """The key of an address: the address itself where there is no namespace."""
    return at.key if at.__class__ is Scoped else at
