"""The base of operators with at most one result row per key: compares the rows before and after a slice."""

from __future__ import annotations

from typing import Any, TypeVar

from millrace.runtime.tables.base import KeyedTableOperator, TableConfig
from millrace.runtime.tables.columns.changes import row_changes
from millrace.runtime.tables.columns.keys import Key
from millrace.runtime.tables.columns.row_codec import Row, RowCodec

C = TypeVar("C", bound=TableConfig)


class RowPerKeyOperator(KeyedTableOperator[C]):
    """Subclasses set ``codec`` in ``setup``, call ``touch`` before they change a key's state, and return the row of a
    key in ``row_of``. A slice emits one change per key."""

    codec: RowCodec
    before: bool
    """whether updates include the old row (-U)"""

    def setup(self, context: Any, output: Any) -> None:
        super().setup(context, output)
        self.touched: dict[Key, Row | None] = {}
        """keys changed in this slice -> their rows before it"""

    def row_of(self, key: Key) -> Row | None:
        """The present row of a key; None: it has none."""
        raise NotImplementedError

    def touch(self, key: Key, row: Row | None) -> None:
        """Note that a key's state is about to change; ``row`` is its present row."""
        self.touched.setdefault(key, row)

    def flush(self) -> None:
        if self.touched:
            touched, self.touched = self.touched, {}
            now = [self.row_of(key) for key in touched]
            alive = self.config.state_ttl > 0
            self.emit_rows(row_changes(self.codec, list(touched.values()), now, self.before, alive))
