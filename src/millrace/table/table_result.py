"""Under PyFlink's path: see ``millrace.table.sessions.table_result``."""

from millrace.table.sessions.table_result import CloseableIterator, TableResult

__all__ = ["CloseableIterator", "TableResult"]
