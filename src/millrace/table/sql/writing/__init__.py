"""Trees back to Flink SQL: reading what was written gives an equal tree."""

from millrace.table.sql.writing import calls, expressions, json, patterns, queries, relations  # noqa: F401
from millrace.table.sql.writing.dispatch import written as written
