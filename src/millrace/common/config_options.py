"""Typed configuration options."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from millrace.common import config_values
from millrace.common.time import Duration

__all__ = ["ConfigOption", "ConfigOptions"]

T = TypeVar("T")
"""Type of the option's value."""


@dataclass(frozen=True, eq=False)
class ConfigOption(Generic[T]):
    """A key, the type of its value, and the default (None for none). Equal by key and default.

    >>> limit = ConfigOptions.key("app.limit").int_type().default_value(10)
    >>> Configuration().get(limit)
    10
    """

    key: str
    convert: Callable[[Any], T]
    """converts any value of a configuration to the option's type; raises ``ValueError``"""
    default: T | None = None

    def has_default_value(self) -> bool:
        """Whether there is a value where nothing is set."""
        return self.default is not None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ConfigOption) and (self.key, self.default) == (other.key, other.default)

    def __hash__(self) -> int:
        return hash(self.key)


class ConfigOptions:
    """Builds options: ``ConfigOptions.key("parallelism").int_type().default_value(1)``.

    >>> ConfigOptions.key("app.name").string_type().no_default_value().has_default_value()
    False
    """

    @staticmethod
    def key(key: str) -> OptionBuilder:
        """Begins an option; a type and a default follow."""
        if not isinstance(key, str):
            raise TypeError(f"the key of an option is a str, got {key!r}")
        return ConfigOptions.OptionBuilder(key)

    class OptionBuilder:
        """The first step of an option: choose the type of its value."""

        def __init__(self, key: str) -> None:
            self._key = key

        def boolean_type(self) -> ConfigOptions.TypedConfigOptionBuilder[bool]:
            return ConfigOptions.TypedConfigOptionBuilder(self._key, config_values.to_boolean)

        def int_type(self) -> ConfigOptions.TypedConfigOptionBuilder[int]:
            """An option with an int of 32 bits."""
            return ConfigOptions.TypedConfigOptionBuilder(self._key, config_values.to_int)

        def long_type(self) -> ConfigOptions.TypedConfigOptionBuilder[int]:
            """An option with an int of 64 bits."""
            return ConfigOptions.TypedConfigOptionBuilder(self._key, config_values.to_long)

        def float_type(self) -> ConfigOptions.TypedConfigOptionBuilder[float]:
            """An option with a float. The value stays a Python float, and is not rounded to 32 bits."""
            return ConfigOptions.TypedConfigOptionBuilder(self._key, config_values.to_double)

        def double_type(self) -> ConfigOptions.TypedConfigOptionBuilder[float]:
            return ConfigOptions.TypedConfigOptionBuilder(self._key, config_values.to_double)

        def string_type(self) -> ConfigOptions.TypedConfigOptionBuilder[str]:
            return ConfigOptions.TypedConfigOptionBuilder(self._key, config_values.to_text)

        def duration_type(self) -> ConfigOptions.TypedConfigOptionBuilder[Duration]:
            """An option with a duration: ``"10 s"``, ``"500ms"``, ``"PT1M"``; a bare number is ms."""
            return ConfigOptions.TypedConfigOptionBuilder(self._key, config_values.to_duration)

        def memory_type(self) -> ConfigOptions.TypedConfigOptionBuilder[int]:
            """An option with a size in bytes: ``"64 mb"``, ``"1g"``; a bare number is bytes."""
            return ConfigOptions.TypedConfigOptionBuilder(self._key, config_values.to_bytes_count)

        def map_type(self) -> ConfigOptions.TypedConfigOptionBuilder[dict[str, str]]:
            """An option with a map: ``"a:1,b:2"``."""
            return ConfigOptions.TypedConfigOptionBuilder(self._key, config_values.to_map)

    class TypedConfigOptionBuilder(Generic[T]):
        """The second step of an option: choose the default."""

        def __init__(self, key: str, convert: Callable[[Any], T]) -> None:
            self._key = key
            self._convert = convert

        def as_list(self) -> ConfigOptions.TypedConfigOptionBuilder[list[T]]:
            """A list of such values: ``"a;b"`` or ``"[a, b]"``."""
            return ConfigOptions.TypedConfigOptionBuilder(self._key, config_values.ListOf(self._convert))

        def default_value(self, value: T) -> ConfigOption[T]:
            """Raises ``ValueError`` when the default is not of the option's type."""
            try:
                return ConfigOption(self._key, self._convert, self._convert(value))
            except (ValueError, TypeError) as error:
                raise ValueError(f"wrong default {value!r} for key {self._key!r}: {error}") from None

        def no_default_value(self) -> ConfigOption[T]:
            return ConfigOption(self._key, self._convert)
