"""DELETE, UPDATE and TRUNCATE of a table of a database."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from typing import Any

from millrace.connectors.jdbc.changes import RowChanges
from millrace.connectors.jdbc.dialects.target import TableShape
from millrace.connectors.jdbc.metadata.known import metadata_of
from millrace.connectors.jdbc.pushed import exact_condition
from millrace.connectors.tables.jdbc.options import JdbcOptions
from millrace.relational.rex import Literal, Ref, Rex, refs
from millrace.relational.rows import Rows
from millrace.relational.sources import Changed, TableChanger, TableContext
from millrace.relational.type_table import Family, family_of
from millrace.util.exceptions import TableException
from millrace.util.secrets import mask_text

_FIXED = ("character(", "char(", "bpchar")


class JdbcChanger(TableChanger):
    """One statement of the database where that means the same there; else rows by their key, in one transaction."""

    def __init__(self, table: TableContext) -> None:
        self._table = table
        options = JdbcOptions(table)
        self._database = options.database
        self._dialect = options.database.dialect
        self._name = options.name
        names = tuple(column.name for column in table.columns)
        self.keys = tuple(names.index(name) for name in table.primary_key)
        shape = TableShape(options.name, names, table.primary_key)
        self._changes = RowChanges(self._dialect, shape, tuple(column.type for column in table.columns))

    def truncate(self) -> None:
        # The right to delete is enough for that, and it can be undone until it is committed.
        self._run(f"DELETE FROM {self._dialect.table(self._name)}")

    def delete(self, condition: Rex | None) -> Changed | None:
        where = self._where(condition)
        return None if where is None else self._run(f"DELETE FROM {self._dialect.table(self._name)}{where}")

    def update(self, values: Mapping[int, Rex], condition: Rex | None) -> Changed | None:
        where = self._where(condition)
        assigned = [self._assignment(at, value) for at, value in values.items()]
        if where is None or None in assigned:
            return None
        return self._run(f"UPDATE {self._dialect.table(self._name)} SET {', '.join(map(str, assigned))}{where}")

    def write(self, rows: Rows) -> None:
        with closing(self._database()) as connection:
            self._changes.apply(connection, [rows])
            self._database.commit(connection)

    def _where(self, condition: Rex | None) -> str | None:
        if condition is None:
            return ""
        text = exact_condition(condition, self._table.columns, self._dialect)
        return None if text is None or self._ignores_blanks(condition) else f" WHERE {text}"

    def _ignores_blanks(self, condition: Rex) -> bool:
        """Whether the condition is about a text of a fixed length: blanks at the end count for nothing there."""
        columns = [self._table.columns[each] for each in refs(condition)]
        texts = {column.name for column in columns if family_of(column.type) is Family.TEXT}
        if not texts:
            return False
        metadata = metadata_of(self._dialect)
        with closing(self._database()) as connection:
            there = metadata.columns(connection, metadata.full_name(self._name))
        return any(each.name in texts and each.native.lower().startswith(_FIXED) for each in there)

    def _assignment(self, at: int, value: Rex) -> str | None:
        column = self._table.columns[at]
        if isinstance(value, Ref) and value.type == self._table.columns[value.index].type == column.type:
            text: str | None = self._dialect.name(self._table.columns[value.index].name)
        elif isinstance(value, Literal):
            text = "NULL" if value.value is None else self._dialect.literal(value.value, value.type)
        else:
            return None
        return None if text is None else f"{self._dialect.name(column.name)} = {text}"

    def _run(self, statement: str) -> Changed:
        with closing(self._database()) as connection:
            try:
                rows = _count(connection, statement)
                connection.commit()
            except Exception as error:
                said = mask_text(str(error).strip())
                raise TableException(f"{self._dialect.title}, table {self._name}: {said}") from error
        return Changed(rows)


def _count(connection: Any, statement: str) -> int | None:
    with closing(connection.cursor()) as cursor:
        cursor.execute(statement)
        count = cursor.rowcount
    return count if isinstance(count, int) and count >= 0 else None
