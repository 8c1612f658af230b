"""The options of one reporter: ``metrics.reporter.<name>.*``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar
from urllib.parse import quote, quote_plus

from millrace.common.config_values import to_boolean, to_duration, to_int
from millrace.util.secrets import HIDDEN, is_secret, mask_text

__all__ = ["ReporterConfig"]

T = TypeVar("T")
"""Type of an option."""


@dataclass(frozen=True)
class ReporterConfig:
    """What the configuration says about one reporter. Each ``get_*`` raises ``ValueError`` for a wrong value.

        >>> config = ReporterConfig("mine", {"host": "localhost", "port": "8125"})
        >>> config.get_string("host"), config.get_integer("port", 0)
        ('localhost', 8125)
    """

    name: str
    options: Mapping[str, str] = field(repr=False)
    """key without ``metrics.reporter.<name>.`` -> value"""
    interval: float = 10.0
    """seconds between two reports"""
    job_name: str = ""

    def get_string(self, key: str, default: str = "") -> str:
        """An option, or the default."""
        return self.options.get(key, default).strip()

    def get_boolean(self, key: str, default: bool) -> bool:
        """An option as a bool, or the default."""
        return self._converted(key, to_boolean, default)

    def get_integer(self, key: str, default: int) -> int:
        """An option as a whole number, or the default."""
        return self._converted(key, to_int, default)

    def get_seconds(self, key: str, default: float) -> float:
        """A span of time; a number without a unit is of milliseconds."""
        return self._converted(key, lambda value: to_duration(value).to_millis() / 1000, default)

    def get_required(self, key: str) -> str:
        """:raises ValueError: it is not set."""
        value = self.get_string(key)
        if not value:
            raise ValueError(f"{self.key(key)} is not set, and this reporter needs it")
        return value

    def get_choice(self, key: str, choices: tuple[str, ...]) -> str:
        """One of several words, in any case; the first is the default."""
        value = self.get_string(key, choices[0])
        for choice in choices:
            if choice.lower() == value.lower():
                return choice
        raise ValueError(f"{self.key(key)}: {value!r} is none of {', '.join(choices)}")

    def key(self, key: str) -> str:
        """The whole key of an option, for messages."""
        return f"metrics.reporter.{self.name}.{key}"

    def hidden(self, text: str) -> str:
        """A text in which none of the reporter's secrets can be read."""
        for key, value in self.options.items():
            if value and is_secret(key):
                for spelling in _spellings(value):
                    text = text.replace(spelling, HIDDEN)
        return mask_text(text)

    def _converted(self, key: str, convert: Callable[[Any], T], default: T) -> T:
        value = self.get_string(key)
        if not value:
            return default
        try:
            return convert(value)
        except ValueError as error:
            raise ValueError(f"{self.key(key)}: {error}") from None


def _spellings(secret: str) -> list[str]:
    """How a secret may stand in a message, the longest first."""
    plain = {secret, secret.strip()}
    found = {change(text) for text in plain for change in (str, quote, quote_plus, lambda text: repr(text)[1:-1])}
    return sorted(filter(None, found | {quote(text, "") for text in plain}), key=len, reverse=True)
