"""Names and keys of a statement that know where they stand, for errors about them."""

from __future__ import annotations

from collections.abc import Iterable

from millrace.table.sql.text.errors import Position


class Name(str):
    """A name, or a text such as the key of an option. Equal to the plain text."""

    position: Position | None

    def __new__(cls, text: str, position: Position | None = None) -> Name:
        made = super().__new__(cls, text)
        made.position = position
        return made


class Path(tuple[Name, ...]):
    """The names of ``catalog.database.object`` as written. Equal to a plain tuple of texts."""

    def __new__(cls, names: Iterable[Name]) -> Path:
        return super().__new__(cls, names)

    @property
    def position(self) -> Position | None:
        """From the first name to the last one."""
        first, last = (self[0].position, self[-1].position) if self else (None, None)
        return Position(first.source, first.start, last.end) if first and last else None

    def __str__(self) -> str:
        return ".".join(self)
