"""Values of state as JSON has them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def plain(value: Any) -> Any:
    """A value as JSON has it; what JSON has nothing for is shown as text."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, Mapping):
        return {str(key): plain(part) for key, part in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain(part) for part in value]
    return str(value)


def key_of(key: Any) -> Any:
    """A key that came as JSON: what is a list there is a tuple in a program."""
    return tuple(map(key_of, key)) if isinstance(key, list) else key
