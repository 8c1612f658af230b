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
    return ",\n".join(f"  '{_escaped(key)}' = '{_escaped(value)}'" for key, value in mask_options(options).items())


def _escaped(text: str) -> str:
    return text.replace("'", "''")
