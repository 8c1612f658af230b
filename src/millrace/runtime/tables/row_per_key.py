"""Operators whose result has at most one row for each key: what it was before the slice, and what it is now."""

from __future__ import annotations

from typing import Any, TypeVar

from millrace.runtime.tables.base import KeyedTableOperator, TableConfig
from millrace.runtime.tables.columns.changes import row_changes
from millrace.runtime.tables.columns.keys import Key
from millrace.runtime.tables.columns.row_codec import Row, RowCodec

C = TypeVar("C", bound=TableConfig)


class RowPerKeyOperator(KeyedTableOperator[C]):
    """Subclasses set ``codec`` in ``setup``, call ``touch`` before they change a key's state, and say in ``row_of``
    what the row of a key is. An epoch gives one change a key."""

    codec: RowCodec
    before: bool
    """whether updates have the old row, too (-U)"""

    def setup(self, context: Any, output: Any) -> None:
        super().setup(context, output)
        self.touched: dict[Key, Row | None] = {}
        """keys of this slice -> their rows before it"""

    def row_of(self, key: Key) -> Row | None:
        """The row of a key now, None without."""
        raise NotImplementedError

    def touch(self, key: Key, row: Row | None) -> None:
        """The row of a key, ``row`` so far, may change."""
        self.touched.setdefault(key, row)

    def flush(self) -> None:
        if self.touched:
            touched, self.touched = self.touched, {}
            now = [self.row_of(key) for key in touched]
            alive = self.config.state_ttl > 0
            self.emit_rows(row_changes(self.codec, list(touched.values()), now, self.before, alive))
