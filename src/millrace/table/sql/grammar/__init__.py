"""The grammar of queries, expressions, types and statements: functions that read from a ``Cursor``.

It is recursive: queries hold expressions, and expressions hold calls and queries. The modules import downwards only
(queries, calls, clauses, expressions, types, cursor); the readers that lie above reach the others by the cursor.
"""

from millrace.table.sql.grammar import calls, queries
from millrace.table.sql.grammar.cursor import Cursor

Cursor.calls = calls
Cursor.queries = queries
