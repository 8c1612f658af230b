"""Keys and values that configure jobs."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from millrace.common import config_values
from millrace.common.config_options import ConfigOption
from millrace.util.secrets import is_secret, mask, mask_options

__all__ = ["Configuration"]

T = TypeVar("T")
"""Type of a value."""


class Configuration:
    """A dict of settings with typed access: every value can be read as any type that its text can be parsed as.

    Getters return the default for a missing key and raise ``ValueError`` when the value does not parse.

        >>> configuration = Configuration()
        >>> configuration.set_string("parallelism.default", "4").get_integer("parallelism.default", 1)
        4
    """

    def __init__(self, other: Configuration | None = None, j_configuration: Any = None) -> None:
        """Empty, or a copy of ``other``.

        :param j_configuration: what ``get_j_env_configuration()`` of PyFlink's helpers gives: the same settings, no
            copy.
        """
        self._values: dict[str, Any] = {} if other is None else dict(other._values)
        if j_configuration is not None:
            self._values = j_configuration.python._values

    @classmethod
    def from_dict(cls, map: Mapping[str, str]) -> Configuration:
        """A configuration with these keys and values."""
        configuration = cls()
        for key, value in map.items():
            configuration.set_string(key, value)
        return configuration

    def get(self, option: ConfigOption[T]) -> T | None:
        """The value of an option, else its default, else None."""
        return self._get(option.key, option.default, option.convert)

    def set(self, option: ConfigOption[T], value: T) -> Configuration:
        """Raises ``ValueError`` when the value is not of the option's type."""
        return self._set(option.key, value, option.convert)

    def get_string(self, key: str, default_value: str) -> str:
        """The value of a key, or the default."""
        return self._get(key, default_value, config_values.to_text)

    def set_string(self, key: str, value: str) -> Configuration:
        """Raises ``TypeError`` for what is not a str."""
        if not isinstance(key, str) or not isinstance(value, str):
            raise TypeError(f"set_string takes str and str, got {key!r} and {value!r}")
        self._values[key] = value
        return self

    def get_integer(self, key: str, default_value: int) -> int:
        """The value of a key as a whole number, or the default."""
        return self._get(key, default_value, config_values.to_long)

    def set_integer(self, key: str, value: int) -> Configuration:
        """Set a key to a whole number."""
        return self._set(key, value, config_values.to_long)

    def get_boolean(self, key: str, default_value: bool) -> bool:
        """The value of a key as a bool, or the default."""
        return self._get(key, default_value, config_values.to_boolean)

    def set_boolean(self, key: str, value: bool) -> Configuration:
        """Set a key to a bool."""
        return self._set(key, value, config_values.to_boolean)

    def get_float(self, key: str, default_value: float) -> float:
        """The value of a key as a float, or the default."""
        return self._get(key, default_value, config_values.to_double)

    def set_float(self, key: str, value: float) -> Configuration:
        """Set a key to a float."""
        return self._set(key, value, config_values.to_double)

    def get_bytearray(self, key: str, default_value: bytearray) -> bytearray:
        """The value of a key as bytes, or the default."""
        return bytearray(self._get(key, bytes(default_value), config_values.to_bytes))

    def set_bytearray(self, key: str, value: bytearray) -> Configuration:
        """Set a key to bytes."""
        return self._set(key, value, config_values.to_bytes)

    def _get(self, key: str, default: T, convert: Callable[[Any], Any]) -> T:
        if key not in self._values:
            return default
        value = self._values[key]
        try:
            return convert(value)  # type: ignore[no-any-return]
        except (ValueError, TypeError) as error:
            shown = mask(key, repr(value))
            raise ValueError(f"could not parse value {shown} for key {key!r}: {_why(key, error)}") from None

    def _set(self, key: str, value: Any, convert: Callable[[Any], Any]) -> Configuration:
        try:
            self._values[key] = convert(value)
        except (ValueError, TypeError) as error:
            shown = mask(key, repr(value))
            raise ValueError(f"wrong value {shown} for key {key!r}: {_why(key, error)}") from None
        return self

    @staticmethod
    def parse_list_value(value: str) -> list[str]:
        """The elements of a list in a configuration: ``"a;b"`` or ``"[a, b]"``."""
        return config_values.split_list(value) if value else []

    def key_set(self) -> builtins.set[str]:
        """All keys that are set."""
        return set(self._values)

    def contains_key(self, key: str) -> bool:
        """Whether a key is set."""
        return key in self._values

    def remove_config(self, key: str) -> bool:
        """Remove a key; whether it was there."""
        return self._values.pop(key, None) is not None

    def add_all(self, other: Configuration, prefix: str | None = None) -> Configuration:
        """Take over all entries of ``other``, with ``prefix`` put before their keys."""
        self._values.update({f"{prefix or ''}{key}": value for key, value in other._values.items()})
        return self

    def add_all_to_dict(self, target_dict: dict[str, Any]) -> None:
        """Add all entries to a dict, with their types."""
        target_dict.update(self._values)

    def to_dict(self) -> dict[str, str]:
        """All entries as text."""
        return {key: config_values.to_text(value) for key, value in self._values.items()}

    def __deepcopy__(self, memo: Any = None) -> Configuration:
        return Configuration(self)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Configuration) and self._values == other._values

    def __hash__(self) -> int:
        return hash(frozenset(self._values))

    def __str__(self) -> str:
        """All entries, without secrets."""
        return f"{{{', '.join(f'{key}={value}' for key, value in mask_options(self.to_dict()).items())}}}"

    def __repr__(self) -> str:
        return f"Configuration({self})"


def _why(key: str, error: Exception) -> str:
    """The error of a value whose text may contain a secret."""
    return type(error).__name__ if is_secret(key) else str(error)
