"""Configuration: values, from text or objects to typed ones (``to_*``, ``ValueError`` when impossible) and to text;
typed options (``ConfigOption``); and the keys and values that configure jobs (``Configuration``)."""

from __future__ import annotations

import base64
import builtins
import datetime
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from millrace.common.constants import MAX_LONG_VALUE, MIN_LONG_VALUE
from millrace.common.text import double_text
from millrace.common.time import Duration, Time, to_millis
from millrace.util.secrets import is_secret, mask, mask_options

__all__ = ["Configuration"]

T = TypeVar("T")
"""Type of a value."""

_BINARY_TAG = "!!binary"
_NUMBER_AND_UNIT = re.compile(r"\s*(\d+)\s*([a-zµ]*)\s*", re.IGNORECASE)
_ISO = re.compile(r"P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)(?:\.(\d{1,9}))?S)?)?", re.IGNORECASE)
_NANOS = {
    **dict.fromkeys(("ns", "nano", "nanos", "nanosecond", "nanoseconds"), 1),
    **dict.fromkeys(("us", "µs", "micro", "micros", "microsecond", "microseconds"), 1_000),
    **dict.fromkeys(("", "ms", "milli", "millis", "millisecond", "milliseconds"), 1_000_000),
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), 1_000_000_000),
    **dict.fromkeys(("m", "min", "minute", "minutes"), 60_000_000_000),
    **dict.fromkeys(("h", "hour", "hours"), 3_600_000_000_000),
    **dict.fromkeys(("d", "day", "days"), 86_400_000_000_000),
}
_BYTES = {
    **dict.fromkeys(("", "b", "byte", "bytes"), 1),
    **dict.fromkeys(("k", "kb", "kibibytes", "kilobyte", "kilobytes"), 1 << 10),
    **dict.fromkeys(("m", "mb", "mebibytes", "megabyte", "megabytes"), 1 << 20),
    **dict.fromkeys(("g", "gb", "gibibytes", "gigabyte", "gigabytes"), 1 << 30),
    **dict.fromkeys(("t", "tb", "tebibytes", "terabyte", "terabytes"), 1 << 40),
}


def to_text(value: Any) -> str:
    """The text of a value as a configuration file would hold it."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return double_text(value)
    if isinstance(value, (bytes, bytearray)):
        return f"{_BINARY_TAG} |-\n  {base64.b64encode(value).decode()}"
    if isinstance(value, (Duration, Time, datetime.timedelta)):
        return f"{to_millis(value)} ms"
    if isinstance(value, (list, tuple)):
        return ";".join(map(to_text, value))
    if isinstance(value, dict):
        return ",".join(f"{_quoted(str(key))}:{_quoted(to_text(part))}" for key, part in value.items())
    return str(value)


def to_boolean(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    text = str(value).lower()
    if text not in ("true", "false"):
        raise ValueError(f"neither true nor false: {value!r}")
    return text == "true"


def is_on(settings: Mapping[str, str], key: str) -> bool:
    """Whether a setting is ``true``; one that is not given is not.

    >>> is_on({"a": "TRUE", "b": "false"}, "a")
    True
    """
    return settings.get(key, "false").lower() == "true"


def to_long(value: Any) -> int:
    return _to_integer(value, MIN_LONG_VALUE, MAX_LONG_VALUE)


def to_int(value: Any) -> int:
    return _to_integer(value, -(1 << 31), (1 << 31) - 1)


def _to_integer(value: Any, least: int, greatest: int) -> int:
    if isinstance(value, (bool, float)) or "_" in str(value):
        raise ValueError(f"not a whole number: {value!r}")
    try:
        number = int(value)
    except ValueError:
        raise ValueError(f"not a whole number: {value!r}") from None
    if not least <= number <= greatest:
        raise ValueError(f"out of range {least} to {greatest}: {value!r}")
    return number


def to_double(value: Any) -> float:
    if isinstance(value, bool):
        raise ValueError(f"not a number: {value!r}")
    return float(value)


def to_bytes(value: Any) -> bytes:
    if isinstance(value, (bytes, bytearray)):
        return bytes(value)
    if isinstance(value, str) and value.startswith(_BINARY_TAG):
        return base64.b64decode(value[len(_BINARY_TAG) :].lstrip("|-> \n"))
    raise ValueError(f"not a byte array: {value!r}")


def to_duration(value: Any) -> Duration:
    if isinstance(value, Duration):
        return value
    if isinstance(value, (Time, datetime.timedelta)):
        return Duration.of_millis(to_millis(value))
    text = str(value).strip()
    if iso := _ISO.fullmatch(text):
        days, hours, minutes, seconds = (int(group or 0) for group in iso.groups()[:4])
        nanos = int((iso.group(5) or "").ljust(9, "0"))
        if any(iso.groups()):
            return _span((((days * 24 + hours) * 60 + minutes) * 60 + seconds) * 1_000_000_000 + nanos, text)
    return _span(_scaled(text, _NANOS, "a span of time"), text)


def _span(nanos: int, text: str) -> Duration:
    if nanos // 1_000_000 > MAX_LONG_VALUE:
        raise ValueError(f"longer than {MAX_LONG_VALUE} ms: {text!r}")
    return Duration.of_nanos(nanos)


def to_bytes_count(value: Any) -> int:
    size = _scaled(str(value), _BYTES, "a size")
    if size > MAX_LONG_VALUE:
        raise ValueError(f"more than {MAX_LONG_VALUE} bytes: {value!r}")
    return size


def _scaled(text: str, units: dict[str, int], meaning: str) -> int:
    match = _NUMBER_AND_UNIT.fullmatch(text)
    if match is None or match.group(2).lower() not in units:
        raise ValueError(f"not {meaning}: {text!r}")
    return int(match.group(1)) * units[match.group(2).lower()]


def to_map(value: Any) -> dict[str, str]:
    if isinstance(value, dict):
        return {str(key): to_text(part) for key, part in value.items()}
    result = {}
    for entry in filter(None, _ENTRY.findall(str(value))):
        key, colon, part = entry.partition(":")
        if not colon:
            raise ValueError(f"not a map of key:value pairs: {value!r}")
        result[_unquoted(key.strip())] = _unquoted(part.strip()).replace("''", "'")
    return result


def _quoted(text: str) -> str:
    """A key or value of a map, quoted if need be."""
    plain = text == text.strip() and not _SPECIAL.search(text)
    return text if plain else "'" + text.replace("'", "''") + "'"


_SPECIAL = re.compile(r"""[,'"]""")
_ENTRY = re.compile(r"""(?:'[^']*'|"[^"]*"|[^,])+""")
"""a part of a list; a quoted comma does not end it"""


def split_list(value: str) -> list[str]:
    """The elements of ``a;b``, ``[a, b]`` or lines with ``- ``; quotes round elements are dropped."""
    text = value.strip()
    if text.startswith("[") and text.endswith("]"):
        parts = text[1:-1].split(",") if text[1:-1].strip() else []
    elif text.startswith("- "):
        parts = [line.strip()[1:] for line in text.splitlines()]
    else:
        return value.split(";") if value else []
    return [_unquoted(part.strip()) for part in parts]


def _unquoted(text: str) -> str:
    return text[1:-1] if len(text) >= 2 and text[0] == text[-1] and text[0] in "'\"" else text


@dataclass(frozen=True)
class ListOf(Generic[T]):
    """Converts lists whose elements ``convert`` converts."""

    convert: Callable[[Any], T]

    def __call__(self, value: Any) -> list[T]:
        return [self.convert(part) for part in (split_list(value) if isinstance(value, str) else value)]


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
            return ConfigOptions.TypedConfigOptionBuilder(self._key, to_boolean)

        def int_type(self) -> ConfigOptions.TypedConfigOptionBuilder[int]:
            """An option with an int of 32 bits."""
            return ConfigOptions.TypedConfigOptionBuilder(self._key, to_int)

        def long_type(self) -> ConfigOptions.TypedConfigOptionBuilder[int]:
            """An option with an int of 64 bits."""
            return ConfigOptions.TypedConfigOptionBuilder(self._key, to_long)

        def float_type(self) -> ConfigOptions.TypedConfigOptionBuilder[float]:
            """An option with a float. The value stays a Python float, and is not rounded to 32 bits."""
            return ConfigOptions.TypedConfigOptionBuilder(self._key, to_double)

        def double_type(self) -> ConfigOptions.TypedConfigOptionBuilder[float]:
            return ConfigOptions.TypedConfigOptionBuilder(self._key, to_double)

        def string_type(self) -> ConfigOptions.TypedConfigOptionBuilder[str]:
            return ConfigOptions.TypedConfigOptionBuilder(self._key, to_text)

        def duration_type(self) -> ConfigOptions.TypedConfigOptionBuilder[Duration]:
            """An option with a duration: ``"10 s"``, ``"500ms"``, ``"PT1M"``; a bare number is ms."""
            return ConfigOptions.TypedConfigOptionBuilder(self._key, to_duration)

        def memory_type(self) -> ConfigOptions.TypedConfigOptionBuilder[int]:
            """An option with a size in bytes: ``"64 mb"``, ``"1g"``; a bare number is bytes."""
            return ConfigOptions.TypedConfigOptionBuilder(self._key, to_bytes_count)

        def map_type(self) -> ConfigOptions.TypedConfigOptionBuilder[dict[str, str]]:
            """An option with a map: ``"a:1,b:2"``."""
            return ConfigOptions.TypedConfigOptionBuilder(self._key, to_map)

    class TypedConfigOptionBuilder(Generic[T]):
        """The second step of an option: choose the default."""

        def __init__(self, key: str, convert: Callable[[Any], T]) -> None:
            self._key = key
            self._convert = convert

        def as_list(self) -> ConfigOptions.TypedConfigOptionBuilder[list[T]]:
            """A list of such values: ``"a;b"`` or ``"[a, b]"``."""
            return ConfigOptions.TypedConfigOptionBuilder(self._key, ListOf(self._convert))

        def default_value(self, value: T) -> ConfigOption[T]:
            """Raises ``ValueError`` when the default is not of the option's type."""
            try:
                return ConfigOption(self._key, self._convert, self._convert(value))
            except (ValueError, TypeError) as error:
                raise ValueError(f"wrong default {value!r} for key {self._key!r}: {error}") from None

        def no_default_value(self) -> ConfigOption[T]:
            return ConfigOption(self._key, self._convert)


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
        return self._get(key, default_value, to_text)

    def set_string(self, key: str, value: str) -> Configuration:
        """Raises ``TypeError`` for what is not a str."""
        if not isinstance(key, str) or not isinstance(value, str):
            raise TypeError(f"set_string takes str and str, got {key!r} and {value!r}")
        self._values[key] = value
        return self

    def get_integer(self, key: str, default_value: int) -> int:
        """The value of a key as a whole number, or the default."""
        return self._get(key, default_value, to_long)

    def set_integer(self, key: str, value: int) -> Configuration:
        """Set a key to a whole number."""
        return self._set(key, value, to_long)

    def get_boolean(self, key: str, default_value: bool) -> bool:
        """The value of a key as a bool, or the default."""
        return self._get(key, default_value, to_boolean)

    def set_boolean(self, key: str, value: bool) -> Configuration:
        """Set a key to a bool."""
        return self._set(key, value, to_boolean)

    def get_float(self, key: str, default_value: float) -> float:
        """The value of a key as a float, or the default."""
        return self._get(key, default_value, to_double)

    def set_float(self, key: str, value: float) -> Configuration:
        """Set a key to a float."""
        return self._set(key, value, to_double)

    def get_bytearray(self, key: str, default_value: bytearray) -> bytearray:
        """The value of a key as bytes, or the default."""
        return bytearray(self._get(key, bytes(default_value), to_bytes))

    def set_bytearray(self, key: str, value: bytearray) -> Configuration:
        """Set a key to bytes."""
        return self._set(key, value, to_bytes)

    def _get(self, key: str, default: T, convert: Callable[[Any], Any]) -> T:
        return parsed(key, self._values[key], convert) if key in self._values else default

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
        return split_list(value) if value else []

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
        return {key: to_text(value) for key, value in self._values.items()}

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


def parsed(key: str, value: Any, convert: Callable[[Any], T]) -> T:
    """The value of a key as its type.

    :raises ValueError: it cannot be read as that. The message names the key, and masks what is secret.
    """
    try:
        return convert(value)
    except (ValueError, TypeError) as error:
        shown = mask(key, repr(value))
        raise ValueError(f"could not parse value {shown} for key {key!r}: {_why(key, error)}") from None


def _why(key: str, error: Exception) -> str:
    """The error of a value whose text may contain a secret."""
    return type(error).__name__ if is_secret(key) else str(error)
