"""Options of a source or a sink, read one by one: one that is unknown or wrong is an error with its line."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NoReturn, TypeVar

from millrace.cdc.definition.model import End
from millrace.common.config_values import to_boolean, to_bytes_count, to_duration
from millrace.relational.option_types import whole_number
from millrace.util.secrets import mask
from millrace.util.similar import did_you_mean

T = TypeVar("T")


class EndOptions:
    """:param prefixes: beginnings of options whose names go on as the user likes."""

    def __init__(self, end: End, known: Iterable[str], prefixes: Iterable[str] = ()) -> None:
        self.end = end
        self._options = end.options
        names, beginnings = tuple(known), tuple(prefixes)
        for name in self._options:
            if name not in names and not any(name.startswith(each) for each in beginnings):
                there = ", ".join((*names, *(f"{each}*" for each in beginnings))) or "none"
                self.fail(name, f"{self.title} has no option '{name}'{did_you_mean(name, names)}; there are: {there}")

    @property
    def title(self) -> str:
        return f"{self.end.block.title} of type {self.end.type}"

    def fail(self, name: str, message: str) -> NoReturn:
        self.end.block.fail(message, next((key for key in _fronts(name) if key in self.end.block.values), None))

    def text(self, name: str, default: str | None = None) -> str | None:
        return self._options.get(name, default)

    def needed(self, name: str) -> str:
        found = self._options.get(name)
        if not found:
            self.fail(name, f"{self.title} needs '{name}'")
        return found

    def number(self, name: str, default: int) -> int:
        found = self._read(name, lambda text: whole_number(name, text), default)
        if found < 0:
            self.fail(name, f"'{name}' is not negative")
        return found

    def size(self, name: str, default: int) -> int:
        """A size in bytes."""
        return self._read(name, to_bytes_count, default)

    def flag(self, name: str, default: bool = False) -> bool:
        return self._read(name, to_boolean, default)

    def seconds(self, name: str, default: float) -> float:
        """A span of time."""
        return self._read(name, lambda text: to_duration(text).to_millis() / 1000, default)

    def one_of(self, name: str, default: str, known: Iterable[str]) -> str:
        found, names = self._options.get(name, default).lower(), tuple(known)
        if found not in names:
            self.fail(name, f"'{name}' is one of {', '.join(names)}, not {found}")
        return found

    def below(self, prefix: str) -> dict[str, str]:
        """What begins with a prefix, without it."""
        return {name[len(prefix) :]: text for name, text in self._options.items() if name.startswith(prefix)}

    def _read(self, name: str, read: Callable[[str], T], default: T) -> T:
        text = self._options.get(name)
        if text is None:
            return default
        try:
            return read(text)
        except (ValueError, TypeError) as error:
            self.fail(name, f"'{name}': {mask(name, text)} cannot be read: {error}")


def _fronts(name: str) -> Iterable[str]:
    """``a.b.c``, ``a.b``, ``a``: what the option may stand under in the file."""
    while name:
        yield name
        name = name.rpartition(".")[0]
