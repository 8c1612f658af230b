"""The options of the connector, read by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

from millrace.common.config_values import to_boolean, to_bytes_count, to_duration
from millrace.connectors.http.codes import Codes
from millrace.relational.option_types import whole_number

T = TypeVar("T")

OLD_PREFIX = "gid.connector.http."
"""what option names began with before the connector came to Flink"""
PREFIX = "http."


def current_names(given: Mapping[str, str]) -> dict[str, str]:
    """The options with the names that they have today."""
    return {
        PREFIX + name[len(OLD_PREFIX) :] if name.startswith(OLD_PREFIX) else name: value
        for name, value in given.items()
    }


class Properties:
    """
    :raises ValueError: from every method, for a value that is none.
    """

    def __init__(self, given: Mapping[str, str]) -> None:
        self.given = current_names(given)

    def text(self, name: str) -> str | None:
        return self.given.get(name)

    def flag(self, name: str, default: bool = False) -> bool:
        return self._read(name, to_boolean, default)

    def count(self, name: str, default: int, least: int = 0) -> int:
        found = self._read(name, lambda text: whole_number(name, text), default)
        if found < least:
            raise ValueError(f"'{name}' is {least} or more, not {found}")
        return found

    def ratio(self, name: str, default: float) -> float:
        return self._read(name, float, default)

    def size(self, name: str, default: int) -> int:
        return self._read(name, to_bytes_count, default)

    def seconds(self, name: str, default: float, bare: float = 0.001) -> float:
        """A span of time.

        :param bare: seconds that a number without a unit counts.
        """

        def convert(text: str) -> float:
            if text.strip().replace(".", "", 1).isdigit():
                return float(text) * bare
            return float(to_duration(text).to_millis()) / 1000

        return self._read(name, convert, default)

    def codes(self, name: str, default: str) -> Codes:
        return self._read(name, Codes.of, Codes.of(default))

    def one_of(self, name: str, default: str, known: tuple[str, ...]) -> str:
        found = self.given.get(name, default)
        for each in known:
            if each.lower() == found.lower():
                return each
        raise ValueError(f"'{name}' is one of {', '.join(known)}, not '{found}'")

    def names(self, name: str) -> tuple[str, ...] | None:
        """Names with semicolons between them."""
        found = self.given.get(name)
        return None if found is None else tuple(each.strip() for each in found.split(";") if each.strip())

    def below(self, prefix: str) -> dict[str, str]:
        """What begins with a prefix, without it."""
        return {name[len(prefix) :]: value for name, value in self.given.items() if name.startswith(prefix)}

    def _read(self, name: str, convert: Callable[[str], T], default: T) -> T:
        found = self.given.get(name)
        if found is None:
            return default
        try:
            return convert(found)
        except ValueError as error:
            raise ValueError(f"'{name}': {error}") from None
