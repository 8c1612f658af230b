"""The address of an entry of keyed state: a key, or a key and a namespace (a window)."""

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
    """An object that knows the address at which state objects read and write."""

    at: Any


class NoKey:
    """The address while there is no current key: any access to state or timers raises an error that says why."""

    def __init__(self, reason: str) -> None:
        self._reason = reason

    def __hash__(self) -> int:
        raise RuntimeError(self._reason)
