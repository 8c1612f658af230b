"""Tables and their changes."""

from __future__ import annotations

from millrace.relational.fields import Schema
from millrace.relational.nodes.base import Single


class ToChangelog(Single):
    """TO_CHANGELOG: each change of the input as an insertion, with the code of its kind as first column."""

    codes: tuple[tuple[str, str], ...]
    """(name of a ``RowKind``, its code); changes of other kinds are left out"""
    partition: tuple[int, ...]
    columns: Schema

    def details(self) -> list[str]:
        return [f"{name}={code}" for name, code in self.codes]


class FromChangelog(Single):
    """FROM_CHANGELOG: rows that say which change they are as the table that they make, without that column."""

    op: int
    """the column with the code"""
    codes: tuple[tuple[str, str], ...]
    """(code, name of its ``RowKind``)"""
    partition: tuple[int, ...]
    """columns of the result"""
    skip: bool
    """whether rows with other codes are left out; else they are errors"""
    columns: Schema

    @property
    def by_key(self) -> bool:
        """Whether updates come without the old rows: then ``partition`` is the key."""
        kinds = {name for _, name in self.codes}
        return "UPDATE_AFTER" in kinds and "UPDATE_BEFORE" not in kinds

    def details(self) -> list[str]:
        return [self.input.names[self.op], *(f"{code}={name}" for code, name in self.codes)]
