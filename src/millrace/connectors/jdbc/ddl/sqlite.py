"""Tables of SQLite, whose columns take values of any type."""

from __future__ import annotations

from millrace.connectors.jdbc.ddl.base import Ddl, NewColumn


class SqliteDdl(Ddl):
    def type_name(self, column: NewColumn, is_key: bool) -> str:
        return column.type.nullable().sql()

    def alter(self, table: str, column: NewColumn, is_key: bool) -> list[str]:
        return []

    def truncate(self, table: str) -> list[str]:
        return [f"DELETE FROM {self.dialect.table(table)}"]
