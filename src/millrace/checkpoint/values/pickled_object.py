"""What stands for an instance of some class where a pickle is shown without being trusted."""

from __future__ import annotations

from typing import Any

__all__ = ["PickledObject"]


class PickledObject:
    """What a pickle says of an object: the name of what would make it, and what that would be given. It is only data:
    nothing of that name was imported or called.

    Two are equal if their pickles say the same.

        >>> PickledObject("shop.Order").name
        'shop.Order'
    """

    __slots__ = ("args", "items", "name", "state")

    def __init__(self, name: str, args: tuple[Any, ...] = ()) -> None:
        self.name = name
        """``module.name`` of a class or function"""
        self.args = args
        """what its constructor would get"""
        self.state: Any = None
        """as a rule the attributes by name"""
        self.items: list[Any] = []
        """elements, or (key, value)"""

    def _parts(self) -> tuple[Any, ...]:
        return self.name, self.args, self.state, self.items

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuilt, self._parts()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PickledObject) and self._parts() == other._parts()

    def __hash__(self) -> int:
        # As far as the parts have a hash: what is a key has one, too.
        state = self.state.values() if isinstance(self.state, dict) else (self.state,)
        try:
            return hash((self.name, self.args, *state))
        except TypeError:
            return hash(self.name)

    def __repr__(self) -> str:
        parts = list(map(repr, self.args))
        if isinstance(self.state, dict):
            parts += [f"{name}={value!r}" for name, value in self.state.items()]
        elif self.state is not None:
            parts.append(repr(self.state))
        parts += map(repr, self.items)
        return f"<{' '.join([self.name, *parts])}>"


def _rebuilt(name: str, args: tuple[Any, ...], state: Any, items: list[Any]) -> PickledObject:
    made = PickledObject(name, args)
    made.state, made.items = state, items
    return made
