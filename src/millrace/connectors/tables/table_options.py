"""``TableOptions``: the options that WITH gives a table, read by name as typed values. All table connectors use it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from millrace.common.configuration import to_boolean, to_bytes_count, to_duration
from millrace.relational.sources import TableContext, whole_number
from millrace.util.exceptions import TableException

T = TypeVar("T")


class TableOptions:
    """What WITH says, read by name.

    :raises TableException: from every method, for a value that is none.
    """

    def __init__(self, table: TableContext) -> None:
        self._table = table.summary
        self._given: Mapping[str, str] = table.options

    @property
    def given(self) -> Mapping[str, str]:
        """All options with their values, as the table has them."""
        return self._given

    def text(self, name: str, default: str | None = None) -> str | None:
        return self._given.get(name, default)

    def flag(self, name: str) -> bool:
        return self._read(name, to_boolean, False)

    def number(self, name: str) -> int | None:
        """A whole number, of 32 or 64 bits as the option is declared."""
        return self._read(name, lambda text: whole_number(name, text), None)

    def millis(self, name: str, default: int | None) -> Any:
        """A span of time in ms."""
        return self._read(name, lambda text: int(to_duration(text).to_millis()), default)

    def size(self, name: str, default: int) -> int:
        """A size in bytes."""
        return self._read(name, to_bytes_count, default)

    def one_of(self, name: str, default: str, known: tuple[str, ...]) -> str:
        found = self._given.get(name, default).lower()
        if found not in known:
            raise self.problem(name, f"is one of {', '.join(known)}")
        return found

    def problem(self, name: str, wanted: str) -> TableException:
        """The error for a value."""
        return TableException(f"table {self._table}: '{name}' {wanted}, not '{self._given.get(name)}'")

    def _read(self, name: str, convert: Callable[[str], T], default: T) -> T:
        given = self._given.get(name)
        if given is None:
            return default
        try:
            return convert(given)
        except ValueError as error:
            raise TableException(f"table {self._table}: '{name}': {error}") from None
