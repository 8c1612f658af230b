"""Errors of table programs: what is wrong, in which line of the user's program, what was perhaps meant, and today's
name for methods of older versions, or of pandas and Spark."""

from __future__ import annotations

from millrace.util.exceptions import TableException
from millrace.util.java_errors import CaughtAsJavaError
from millrace.util.names import did_you_mean as did_you_mean
from millrace.util.tracebacks import user_origin

# Names of older versions

_INSTEAD = {
    "collect": "rows are table.execute().collect()",
    "print": "table.execute().print() shows the rows",
    "show": "table.execute().print() shows the rows",
    "toPandas": "table.to_pandas() makes a frame",
    "connect": "execute_sql('CREATE TABLE ...'), or create_temporary_table with a TableDescriptor",
    "execute": "a query runs with table.execute(), an INSERT with table.execute_insert() or execute_sql()",
    "from_data_stream": "DataStreams need StreamTableEnvironment.create(env)",
    "to_data_stream": "DataStreams need StreamTableEnvironment.create(env)",
    "insert_into": "table.execute_insert('sink')",
    "register_function": "create_temporary_function(name, function)",
    "register_java_function": "functions are written in Python: create_temporary_function(name, function)",
    "register_table": "create_temporary_view(name, table)",
    "register_table_sink": "execute_sql('CREATE TABLE ...')",
    "register_table_source": "execute_sql('CREATE TABLE ...')",
    "scan": "from_path(name)",
    "sql": "sql_query for a query, execute_sql for any statement",
    "sql_update": "execute_sql(statement)",
}


def instead(name: str) -> str:
    """``": ..."`` to be put behind a message that there is no such method; empty if nothing is known."""
    return f": {_INSTEAD[name]}" if name in _INSTEAD else ""


def problem(message: str) -> TableException:
    """The exception to raise, with the user's file and line in front."""
    return TableProgramError(f"{user_origin()}: {message}")


class TableProgramError(TableException, CaughtAsJavaError):
    """A table program is wrong; PyFlink has a ``TableException`` of some of it, a ``Py4JJavaError`` of the rest."""


class TableValueError(TableException, ValueError):
    """A value does not fit: PyFlink raises a ValueError where it looks at values itself."""


class TableTypeError(TableException, TypeError):
    """A value is of a wrong kind: PyFlink raises a TypeError where it looks at values itself."""


def value_problem(message: str) -> TableException:
    """Like ``problem``, and a ``ValueError``."""
    return TableValueError(f"{user_origin()}: {message}")


def type_problem(message: str) -> TableException:
    """Like ``problem``, and a ``TypeError``."""
    return TableTypeError(f"{user_origin()}: {message}")
