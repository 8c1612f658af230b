"""The grammar of queries, expressions, types and statements: functions that read from a ``Cursor``.

It is recursive: expressions hold queries, and queries hold expressions. So its modules import each other, and are
loaded from here in the one order that works.
"""

from millrace.table.sql.grammar import expressions as expressions
