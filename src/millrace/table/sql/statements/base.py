"""What all statements have."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import TypeAlias

from millrace.table.sql import nodes
from millrace.table.sql.text.errors import Position
from millrace.table.sql.text.names import Name
from millrace.util.record import Record

Options: TypeAlias = Mapping[str, str]
"""What WITH says. Keys are ``Name``."""

PartitionSpec: TypeAlias = tuple[tuple[Name, nodes.Node | None], ...]
"""Columns with their values: literals, or None where only the column is named."""


class Statement(Record):
    """A statement. ``position`` is its place in the script, without the semicolon."""

    position: Position | None = field(default=None, compare=False, repr=False, kw_only=True)

    @property
    def text(self) -> str:
        """The statement as it was written."""
        return self.position.text if self.position else ""


class Written(Record):
    """A query or expression together with the text that it was written as. Equal if the trees are."""

    tree: nodes.Node
    text: str = field(compare=False)
