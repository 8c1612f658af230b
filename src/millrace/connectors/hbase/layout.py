"""``Layout``: which column of a table is the row key, and what the families in the others have."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from millrace.common.types import Row
from millrace.connectors.hbase.encoding import decoder, encoder, problem
from millrace.relational.fields import Schema
from millrace.relational.type_table import Family, family_of
from millrace.relational.types import DataType, RowType

Cells = Mapping[bytes, bytes]
"""``family:qualifier`` -> value, of one row"""


@dataclass(frozen=True)
class Cell:
    """A declared column of HBase."""

    name: bytes
    """``family:qualifier``"""
    kind: DataType


@dataclass(frozen=True)
class Layout:
    """The columns of a table as HBase has them.

    :raises ValueError: from ``of``, for columns that HBase cannot have.
    """

    columns: Schema
    key: int
    """which column is the row key"""
    null: bytes = b"null"
    """what stands for NULL in texts"""

    @staticmethod
    def of(columns: Schema, null: str = "null") -> Layout:
        keys = [place for place, column in enumerate(columns) if not isinstance(column.type, RowType)]
        if len(keys) != 1:
            names = ", ".join(columns[place].name for place in keys) or "none"
            raise ValueError(
                f"a table of HBase has one column for the row key, and families as ROW<qualifier type, ...>; "
                f"columns that are no ROW: {names}"
            )
        layout = Layout(columns, keys[0], null.encode())
        for name, kind in [(columns[keys[0]].name, columns[keys[0]].type)] + [
            (cell.name.decode(), cell.kind) for cell in layout.cells
        ]:
            wrong = problem(kind)
            if wrong is not None:
                raise ValueError(f"column '{name}': {wrong}")
        return layout

    @cached_property
    def families(self) -> Mapping[int, tuple[Cell, ...]]:
        """Column -> what is declared of its family."""
        return {
            place: tuple(
                Cell(f"{column.name}:{name}".encode(), kind)
                for name, kind in zip(column.type.field_names(), column.type.field_types())
            )
            for place, column in enumerate(self.columns)
            if isinstance(column.type, RowType)
        }

    @property
    def cells(self) -> list[Cell]:
        return [cell for cells in self.families.values() for cell in cells]

    # -- rows to cells -------------------------------------------------------------------------------------------

    @cached_property
    def key_encoder(self) -> Callable[[Any], bytes]:
        """:raises ValueError: from the function: HBase has no empty row keys."""
        encode, name = encoder(self.columns[self.key].type), self.columns[self.key].name

        def checked(value: Any) -> bytes:
            made = encode(value)
            if not made:
                raise ValueError(f"the row key '{name}' must not be empty")
            return made

        return checked

    @cached_property
    def _writers(self) -> list[tuple[int, list[tuple[bytes, Callable[[Any], bytes], bytes]]]]:
        return [
            (place, [(cell.name, encoder(cell.kind), self._empty(cell.kind)) for cell in cells])
            for place, cells in self.families.items()
        ]

    def _empty(self, kind: DataType) -> bytes:
        """What is written for NULL."""
        return self.null if family_of(kind) is Family.TEXT else b""

    def cells_of(self, row: Sequence[Any], ignore_nulls: bool) -> dict[bytes, bytes]:
        """What is put for a row. :param ignore_nulls: whether NULL leaves a cell as it is."""
        made: dict[bytes, bytes] = {}
        for place, cells in self._writers:
            values = [None] * len(cells) if row[place] is None else list(row[place])
            for (name, encode, empty), value in zip(cells, values):
                if value is not None:
                    made[name] = encode(value)
                elif not ignore_nulls:
                    made[name] = empty
        return made

    # -- cells to rows -------------------------------------------------------------------------------------------

    @cached_property
    def key_decoder(self) -> Callable[[bytes], Any]:
        return decoder(self.columns[self.key].type)

    def reader(self, place: int) -> Callable[[bytes, Cells], Any]:
        """From a row key and the cells of its row to the value of a column.

        :raises ValueError: from the function, with the row and the cell.
        """
        if place == self.key:
            return lambda key, found: self.key_decoder(key)
        cells = [(cell.name, decoder(cell.kind), self._empty(cell.kind)) for cell in self.families[place]]
        names = self.columns[place].type.field_names()  # type: ignore[attr-defined]

        def read(key: bytes, found: Cells) -> Row:
            values = []
            for name, decode, empty in cells:
                data = found.get(name)
                try:
                    values.append(None if data is None or data == empty else decode(data))
                except ValueError as error:
                    raise ValueError(f"row {key!r}, column {name.decode()}: {error}") from None
            row = Row(*values)
            row.set_field_names(names)
            return row

        return read
