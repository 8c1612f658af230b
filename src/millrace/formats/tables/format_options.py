"""Finds formats by name (Millrace's and those of installed packages, entry points ``millrace.formats``), reads their
options, and defines their errors."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from millrace.formats.text_columns import ISO, SQL, NoForm, TimeForm
from millrace.relational.sources import FormatContext, FormatFactory
from millrace.relational.types import DataType
from millrace.util import plugins
from millrace.util.exceptions import TableException
from millrace.util.names import did_you_mean
from millrace.util.secrets import mask

IGNORE = "ignore-parse-errors"
TIMES = "timestamp-format.standard"
NULL_KEY_MODE = "map-null-key.mode"
NULL_KEY_LITERAL = "map-null-key.literal"


@dataclass(frozen=True)
class Options:
    """Reads the options of one format of a table. Methods raise ``TableException`` that names option and value."""

    format: str
    table: FormatContext

    def text(self, name: str) -> str | None:
        return self.table.options.get(name)

    def flag(self, name: str, default: bool = False) -> bool:
        value = self.text(name)
        if value is None:
            return default
        if value.strip().lower() not in ("true", "false"):
            raise self.wrong(name, value, "true or false")
        return value.strip().lower() == "true"

    def one_of(self, name: str, choices: tuple[str, ...], default: str) -> str:
        """One of several words; case does not matter."""
        value = self.text(name)
        if value is None:
            return default
        for choice in choices:
            if value.strip().casefold() == choice.casefold():
                return choice
        raise self.wrong(name, value, f"{' or '.join(choices)}{did_you_mean(value, choices)}")

    def character(self, name: str, default: str | None) -> str | None:
        r"""A single character; ``\t``, ``\n``, ``\r`` and ``\\`` are understood."""
        value = self.text(name)
        if value is None:
            return default
        value = _ESCAPES.get(value, value)
        if len(value) != 1:
            raise self.wrong(name, value, "a single character")
        return value

    def times(self) -> TimeForm:
        return ISO if self.one_of(TIMES, ("SQL", "ISO-8601"), "SQL") == "ISO-8601" else SQL

    def check_null_keys(self) -> None:
        """A MAP of a table never has a NULL key, so that only the value of the option is of interest."""
        self.one_of(NULL_KEY_MODE, ("FAIL", "DROP", "LITERAL"), "FAIL")

    def wrong(self, name: str, value: str, wanted: str) -> TableException:
        return self.problem(f"option '{self.format}.{name}' is {mask(name, repr(value))}, but has to be {wanted}")

    def problem(self, message: str) -> TableException:
        return TableException(f"table {self.table.table}: {message}")


_ESCAPES = {r"\t": "\t", r"\n": "\n", r"\r": "\r", r"\\": "\\"}


_SHOWN = 200


def check_types(options: Options, make: Callable[[DataType], Any]) -> None:
    """See that a format has a form for all columns of its table.

    :param make: raises ``NoForm`` for a type.
    :raises TableException: names the first column that it has none for.
    """
    for column in options.table.columns:
        try:
            make(column.type)
        except NoForm as error:
            raise options.problem(f"format '{options.format}', column '{column.name}': {error}") from error


class MalformedError(ValueError):
    """A message that a format cannot read.

    :ivar number: of the message among those that were to be decoded, from 0.
    """

    def __init__(self, table: str, number: int, what: str) -> None:
        super().__init__(f"table {table}: message {number} is malformed: {what}")
        self.number = number
        self._table = table
        self._what = what

    def at(self, place: str) -> str:
        """The error's text for a message whose place is known in words, such as a file and a line."""
        return f"{place}: table {self._table}: {self._what}"

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._table, self.number, self._what)


def malformed(table: str, number: int, message: bytes, reason: object, advice: str = "") -> MalformedError:
    """The error for a message; ``number`` counts from 0."""
    shown = repr(message[:_SHOWN])[2:-1] + ("..." if len(message) > _SHOWN else "")
    return MalformedError(table, number, f"{reason}. It is: {shown}{advice}")


LENIENCE = f" (the format's option '{IGNORE}' leaves such messages out)"
"""advice for formats that have it"""


ENTRY_POINTS = "millrace.formats"


def format_names() -> list[str]:
    return plugins.names(ENTRY_POINTS)


def format_factory(identifier: str, table: str) -> FormatFactory:
    """The factory of a format.

    :param table: its name, for errors.
    :raises TableException: there is no format of this name.
    """
    if not plugins.has(ENTRY_POINTS, identifier):
        known = format_names()
        raise TableException(
            f"table {table}: there is no format '{identifier}'{did_you_mean(identifier, known)}; there are "
            f"{', '.join(known)}"
        )
    return plugins.make(ENTRY_POINTS, identifier, FormatFactory)


def format_options(
    factory: FormatFactory, identifier: str, table_options: Mapping[str, str], table: str = ""
) -> dict[str, str]:
    """The options of a format among those of a table, without their prefix, checked by name.

    :param identifier: what stands before the dot: ``'json'``, or ``'value.json'`` where a connector has two formats.
    :param table: its name, for errors.
    :raises TableException: an option that the format does not have, or that it needs and that is missing.
    """
    prefix = f"{identifier}."
    found = {name[len(prefix) :]: value for name, value in table_options.items() if name.startswith(prefix)}
    where = f"table {table}: " if table else ""
    missing = [prefix + name for name in factory.required if name not in found]
    if missing:
        raise TableException(f"{where}format '{factory.identifier}' needs {', '.join(missing)}")
    check_names(found, sorted((*factory.required, *factory.optional)), f"{where}format '{factory.identifier}'", prefix)
    return found


def check_names(given: Iterable[str], known: Sequence[str], whose: str, prefix: str) -> None:
    """Refuse options that a format does not have.

    :param known: without prefix; one that ends with a dot stands for all that begin with it.
    :raises TableException: says which options there are.
    """
    for name in given:
        if name not in known and not any(each.endswith(".") and name.startswith(each) for each in known):
            shown = ", ".join(prefix + each for each in known) or "none"
            meant = did_you_mean(prefix + name, [prefix + each for each in known])
            raise TableException(f"{whose} has no option '{prefix}{name}'{meant}; it has {shown}")
