"""Options of formats as what they mean."""

from __future__ import annotations

from dataclasses import dataclass

from millrace.formats.tables.times import ISO, SQL, TimeForm
from millrace.relational.formats import FormatContext
from millrace.util.exceptions import TableException
from millrace.util.secrets import mask
from millrace.util.similar import did_you_mean

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
