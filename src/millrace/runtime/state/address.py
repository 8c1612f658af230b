"""Where an entry of keyed state lives: under a key, or under a key and a namespace (a window)."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol


class Scoped(NamedTuple):
    """The address of state that belongs to a key within a namespace."""

    key: Any
    namespace: Any


def key_of(at: Any) -> Any:
    """The key of an address: the address itself where there is no namespace."""
    return at.key if at.__class__ is Scoped else at


class Addressed(Protocol):
    """What knows the address that state objects are read at."""

    at: Any


class NoKey:
    """The address of a moment without a current key: looking up any state or timer there fails, and says why."""

    def __init__(self, reason: str) -> None:
        self._reason = reason

    def __hash__(self) -> int:
        raise RuntimeError(self._reason)
