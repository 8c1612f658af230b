"""What stands now where people look for methods of older versions, or of pandas and Spark."""

from __future__ import annotations

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
