"""What descriptors have in common: options by key, equality by what they say."""

from __future__ import annotations

from typing import Any, TypeVar

from millrace.common import config_values
from millrace.common.config_options import ConfigOption
from millrace.util.secrets import mask_options

_B = TypeVar("_B", bound="OptionsBuilder")


class Described:
    """A value that is what its text says."""

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.__dict__ == other.__dict__

    def __hash__(self) -> int:
        return hash(str(self))


class OptionsBuilder:
    """Collects options."""

    def __init__(self) -> None:
        self._options: dict[str, str] = {}

    def option(self: _B, key: str | ConfigOption[Any], value: Any) -> _B:
        """Set an option of WITH."""
        name = key.key if isinstance(key, ConfigOption) else key
        self._options[name] = config_values.to_text(value)
        return self


def options_text(options: dict[str, str]) -> str:
    """The options as in WITH (...), without secrets."""
    shown = in_javas_order(mask_options(options))
    return ",\n".join(f"  '{_escaped(key)}' = '{_escaped(value)}'" for key, value in shown.items())


def in_javas_order(options: dict[str, str]) -> dict[str, str]:
    """The options in the order of Java's ``HashMap``, in which Flink prints them."""
    buckets = 16
    while len(options) > 0.75 * buckets:
        buckets *= 2
    return {key: options[key] for key in sorted(options, key=lambda key: _bucket(key, buckets))}


def _bucket(text: str, buckets: int) -> int:
    found = 0
    units = text.encode("utf-16-be")
    for place in range(0, len(units), 2):
        found = (31 * found + int.from_bytes(units[place : place + 2], "big")) & 0xFFFFFFFF
    return (found ^ found >> 16) & (buckets - 1)


def _escaped(text: str) -> str:
    return text.replace("'", "''")
