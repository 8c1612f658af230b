"""``CollectedRow``: a row of a result, which compares and prints by position and still finds its columns by name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from millrace.common.types import Row, RowKind, row_of


class CollectedRow(Row):
    """Equal to ``Row(1, "a")`` as in PyFlink, whose collected rows have no names; ``row.id`` and ``row["id"]`` work."""

    __slots__ = ("_names",)

    _names: Sequence[str]

    @staticmethod
    def of(values: list[Any], names: Sequence[str], kind: RowKind) -> CollectedRow:
        """The fast way: nothing is checked, nothing is copied. Share ``names`` between rows."""
        row = CollectedRow.__new__(CollectedRow)
        row._values = values
        row._fields = None
        row._row_kind = kind
        row._names = names
        return row

    def as_dict(self, recursive: bool = False) -> dict[str, Any]:
        return row_of(self._values, list(self._named())).as_dict(recursive)

    def _named(self) -> Sequence[str]:
        return self._names if self._fields is None else self._fields

    def _index(self, name: str) -> int:
        try:
            return self._named().index(name)
        except ValueError:
            raise ValueError(f"no field {name!r} in this row; its fields are {', '.join(self._named())}") from None

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("_"):
            try:
                return self._values[self._named().index(name)]
            except ValueError:
                pass
        raise AttributeError(name)

    def __copy__(self) -> CollectedRow:
        row = CollectedRow.of(self._values.copy(), self._names, self._row_kind)
        row._fields = self._fields
        return row

    def __reduce__(self) -> tuple[Any, ...]:
        return _again, (self._values, self._names, self._row_kind, self._fields)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Row):
            return NotImplemented
        return self._as_row() == (other._as_row() if isinstance(other, CollectedRow) else other)

    def _as_row(self) -> Row:
        return row_of(self._values, self._fields, self._row_kind)

    __hash__ = Row.__hash__


def _again(values: list[Any], names: Sequence[str], kind: RowKind, fields: list[str] | None) -> CollectedRow:
    row = CollectedRow.of(values, names, kind)
    row._fields = fields
    return row
