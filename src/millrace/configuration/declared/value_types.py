"""The types of values: whether a text is one, and how what is expected is said."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from millrace.common import config_values

__all__ = ["canonical", "is_of", "said", "short_name", "values_of"]

_PORTS = re.compile(r"none|\d+(-\d+)?(\s*,\s*\d+(-\d+)?)*", re.IGNORECASE)


def _to_ports(text: str) -> str:
    if not _PORTS.fullmatch(text):
        raise ValueError(text)
    return text


_PARSERS: dict[str, tuple[Callable[[Any], object], str]] = {
    "boolean": (config_values.to_boolean, "true or false"),
    "int": (config_values.to_int, "a whole number"),
    "long": (config_values.to_long, "a whole number"),
    "double": (config_values.to_double, "a number"),
    "float": (config_values.to_double, "a number"),
    "duration": (config_values.to_duration, "a span of time, as 500 ms, 10 s or 5 min"),
    "memory": (config_values.to_bytes_count, "a size, as 512 mb or 2 gb"),
    "ports": (_to_ports, "a port, a range as 8081-8090, or none"),
    "map": (config_values.to_map, "key:value pairs with commas between them"),
}
"""Type -> what reads its values, and how values are said. All other types are text."""


def said(type_: str) -> str:
    """What a value of a type is, as part of a message."""
    kind, _, rest = type_.partition(":")
    if kind == "enum":
        return f"one of {', '.join(rest.split('|'))}"
    if kind == "list":
        return f"a list with ; between its parts, each {said(rest)}"
    return _PARSERS[type_][1] if type_ in _PARSERS else "text"


def short_name(type_: str) -> str:
    """A type in a word or two, or the values that there are."""
    kind, _, rest = type_.partition(":")
    if kind == "enum":
        return ", ".join(f"`{value}`" for value in rest.split("|"))
    if kind == "list":
        return "list" if rest == "string" else f"list of {short_name(rest)}"
    return {"string": "text", "duration": "time", "memory": "size", "int": "number", "long": "number"}.get(
        type_, "number" if type_ in ("double", "float") else type_
    )


def values_of(type_: str) -> tuple[str, ...]:
    """All values of a type, if they are few."""
    kind, _, rest = type_.partition(":")
    if kind == "enum":
        return tuple(rest.split("|"))
    return ("true", "false") if type_ == "boolean" else ()


def is_of(type_: str, value: str) -> bool:
    """Whether a text is a value of a type."""
    kind, _, rest = type_.partition(":")
    if kind == "enum":
        return _word(value) in map(_word, rest.split("|"))
    if kind == "list":
        return all(is_of(rest, part) for part in config_values.split_list(value))
    if type_ not in _PARSERS:
        return True
    try:
        _PARSERS[type_][0](value.strip())
    except (ValueError, TypeError):
        return False
    return True


def canonical(type_: str, value: str) -> str:
    """A text that is the same for equal values: ``1 min`` and ``60 s``, ``True`` and ``true``."""
    kind, _, rest = type_.partition(":")
    if kind == "list":
        return ";".join(canonical(rest, part) for part in config_values.split_list(value))
    if kind == "map" or type_ not in _PARSERS or not is_of(type_, value):
        return _word(value)
    return str(_PARSERS[type_][0](value.strip()))


def _word(value: str) -> str:
    return value.strip().lower().replace("-", "_")
