"""The dialect ``millrace`` of SQLAlchemy: its types, the SQL of its statements, and its reflection of tables.

SQLAlchemy finds it by the entry point in pyproject.toml.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any

from sqlalchemy import exc, schema
from sqlalchemy import types as sa
from sqlalchemy.engine import default
from sqlalchemy.engine.url import URL
from sqlalchemy.sql import compiler
from sqlalchemy.sql.compiler import GenericTypeCompiler
from sqlalchemy.types import TypeEngine

from millrace.dbapi.parameters import literal
from millrace.relational import types as t
from millrace.relational.types import DataType
from millrace.table.sql.grammar.parser import parse_type
from millrace.table.sql.text import RESERVED

# Types

MOST = 2**31 - 1


class FlinkType(sa.UserDefinedType[Any]):
    """A type that SQLAlchemy does not have, by its text in SQL: ``FlinkType("MAP<STRING, INT>")``."""

    cache_ok = True

    def __init__(self, text: str) -> None:
        self.text = text

    def get_col_spec(self, **kw: Any) -> str:
        return self.text


def alchemy_type(data_type: DataType) -> TypeEngine[Any]:
    """The type of SQLAlchemy for one of Flink SQL."""
    make = _TYPES.get(type(data_type))
    return FlinkType(str(data_type.nullable())) if make is None else make(data_type)


def _array(kind: t.ArrayType) -> TypeEngine[Any]:
    if isinstance(kind.element_type, t.ArrayType):  # SQLAlchemy counts dimensions instead
        return FlinkType(str(kind.nullable()))
    return sa.ARRAY(alchemy_type(kind.element_type))


def _length(kind: Any) -> int | None:
    return None if kind.length == MOST else kind.length


_TYPES: Mapping[type[DataType], Callable[[Any], TypeEngine[Any]]] = {
    t.BooleanType: lambda kind: sa.BOOLEAN(),
    t.SmallIntType: lambda kind: sa.SMALLINT(),
    t.IntType: lambda kind: sa.INTEGER(),
    t.BigIntType: lambda kind: sa.BIGINT(),
    t.FloatType: lambda kind: sa.REAL(),
    t.DoubleType: lambda kind: sa.DOUBLE(),
    t.DecimalType: lambda kind: sa.DECIMAL(kind.precision, kind.scale),
    t.CharType: lambda kind: sa.CHAR(kind.length),
    t.VarCharType: lambda kind: sa.VARCHAR(_length(kind)),
    t.BinaryType: lambda kind: sa.BINARY(kind.length),
    t.VarBinaryType: lambda kind: sa.VARBINARY(_length(kind)),
    t.DateType: lambda kind: sa.DATE(),
    t.TimeType: lambda kind: sa.TIME(),
    t.TimestampType: lambda kind: sa.TIMESTAMP(),
    t.LocalZonedTimestampType: lambda kind: sa.TIMESTAMP(timezone=True),
    t.ArrayType: _array,
}


class MillraceTypeCompiler(GenericTypeCompiler):
    """Writes types in CREATE TABLE and CAST."""

    def visit_FLOAT(self, type_: Any, **kw: Any) -> str:
        """DOUBLE: SQLAlchemy's Float is Python's, of eight bytes."""
        return "DOUBLE"

    def visit_REAL(self, type_: Any, **kw: Any) -> str:
        return "FLOAT"

    def visit_DOUBLE(self, type_: Any, **kw: Any) -> str:
        return "DOUBLE"

    visit_DOUBLE_PRECISION = visit_DOUBLE

    def visit_VARCHAR(self, type_: Any, **kw: Any) -> str:
        return f"VARCHAR({type_.length})" if type_.length else "STRING"

    visit_NVARCHAR = visit_VARCHAR
    visit_TEXT = visit_CLOB = visit_VARCHAR

    def visit_VARBINARY(self, type_: Any, **kw: Any) -> str:
        return f"VARBINARY({type_.length})" if type_.length else "BYTES"

    visit_BLOB = visit_VARBINARY

    def visit_DATETIME(self, type_: Any, **kw: Any) -> str:
        return "TIMESTAMP_LTZ(3)" if type_.timezone else "TIMESTAMP(6)"

    visit_TIMESTAMP = visit_DATETIME

    def visit_TIME(self, type_: Any, **kw: Any) -> str:
        return "TIME(3)"

    def visit_ARRAY(self, type_: Any, **kw: Any) -> str:
        inner = self.process(type_.item_type, **kw)
        for _ in range(type_.dimensions or 1):
            inner = f"ARRAY<{inner}>"
        return inner


# Statements


class MillracePreparer(compiler.IdentifierPreparer):
    """Quotes names in backticks. A schema is a database, or ``catalog.database``."""

    reserved_words = {word.lower() for word in RESERVED}

    def __init__(self, dialect: Any, **kw: Any) -> None:
        super().__init__(dialect, initial_quote="`", escape_quote="`", **kw)

    def quote_schema(self, schema: str, force: Any = None) -> str:
        return ".".join(self.quote(part) for part in schema.split("."))


class MillraceCompiler(compiler.SQLCompiler):
    """Writes queries and INSERTs."""

    def limit_clause(self, select: Any, **kw: Any) -> str:
        text = ""
        if select._limit_clause is not None:
            text += f"\n LIMIT {self.process(select._limit_clause, **kw)}"
        if select._offset_clause is not None:
            text += f"\n OFFSET {self.process(select._offset_clause, **kw)} ROWS"
        return text

    def for_update_clause(self, select: Any, **kw: Any) -> str:
        """Empty: there are no locks."""
        return ""

    def visit_now_func(self, fn: Any, **kw: Any) -> str:
        return "CURRENT_TIMESTAMP"


class MillraceDdlCompiler(compiler.DDLCompiler):
    """Writes CREATE TABLE with ``millrace_with={"connector": ...}`` and ``millrace_partitioned_by=[...]``."""

    def get_column_specification(self, column: Any, **kw: Any) -> str:
        name, kind = self.preparer.format_column(column), self.dialect.type_compiler_instance.process(column.type)
        return f"{name} {kind}" + ("" if column.nullable else " NOT NULL")

    def visit_primary_key_constraint(self, constraint: Any, **kw: Any) -> str:
        text = super().visit_primary_key_constraint(constraint, **kw)
        return f"{text} NOT ENFORCED" if text else ""

    def post_create_table(self, table: Any) -> str:
        options = table.dialect_options["millrace"]
        text = ""
        if options["partitioned_by"]:
            text += f"\nPARTITIONED BY ({', '.join(map(self.preparer.quote, options['partitioned_by']))})"
        if options["with"]:
            pairs = ", ".join(f"{literal(key)} = {literal(str(value))}" for key, value in options["with"].items())
            text += f"\nWITH ({pairs})"
        return text


# The dialect

_OWN = ("changes", "timeout", "statement_timeout")
"""parameters of a URL that belong to the driver; all others are options of the session"""
_TIME_ATTRIBUTE = re.compile(r" \*\w+\*$")
_KEY = re.compile(r"PRI\((?P<columns>.*)\)")


class MillraceDialect(default.DefaultDialect):
    """``millrace://[:token@]host:port/[catalog[/database]][?tls=true&option=value]``"""

    name = "millrace"
    driver = "rest"
    default_paramstyle = "qmark"
    preparer = MillracePreparer  # type: ignore[assignment]  # it only has other reserved words
    statement_compiler = MillraceCompiler
    ddl_compiler = MillraceDdlCompiler
    type_compiler_cls = MillraceTypeCompiler
    construct_arguments = [(schema.Table, {"with": {}, "partitioned_by": ()})]

    supports_statement_cache = True
    supports_native_boolean = True
    supports_native_decimal = True
    supports_sane_rowcount = False
    supports_sane_multi_rowcount = False
    supports_default_values = False
    supports_empty_insert = False
    supports_alter = False
    postfetch_lastrowid = False
    # Many rows are one INSERT, since each is a job.
    supports_multivalues_insert = True
    use_insertmanyvalues = True
    use_insertmanyvalues_wo_returning = True

    @classmethod
    def import_dbapi(cls) -> ModuleType:
        from millrace import dbapi

        return dbapi

    # -- connections --------------------------------------------------------------------------------------------

    def create_connect_args(self, url: URL) -> Any:
        query = {key: value if isinstance(value, str) else value[-1] for key, value in url.query.items()}
        scheme = "https" if query.pop("tls", "false").lower() == "true" else "http"
        host = f"[{url.host}]" if url.host and ":" in url.host else url.host or "localhost"
        options: dict[str, Any] = {key: query.pop(key) for key in _OWN if key in query}
        for key in ("timeout", "statement_timeout"):
            if key in options:
                options[key] = float(options[key])
        token = None if url.password is None else str(url.password)
        return [f"{scheme}://{host}:{url.port or 8083}"], {"token": token, "properties": query, **options}

    def on_connect_url(self, url: URL) -> Any:
        """A function that selects the catalog and database of the URL; None: the URL names none."""
        path = [part for part in (url.database or "").split("/") if part]
        if len(path) > 2:
            raise exc.ArgumentError(f"{url.database!r}: the path of the URL is /catalog or /catalog/database")
        if not path:
            return None
        names = [self.identifier_preparer.quote_identifier(part) for part in path]

        def go(connection: Any) -> None:
            with connection.cursor() as cursor:
                cursor.execute(f"USE CATALOG {names[0]}" if len(names) == 1 else f"USE {'.'.join(names)}")

        return go

    def do_begin(self, dbapi_connection: Any) -> None:
        """Does nothing: there are no transactions."""

    def do_commit(self, dbapi_connection: Any) -> None:
        """Does nothing: there are no transactions."""

    def do_rollback(self, dbapi_connection: Any) -> None:
        """Does nothing: there are no transactions, but SQLAlchemy calls it whenever it returns a connection to its
        pool."""

    def do_ping(self, dbapi_connection: Any) -> bool:
        dbapi_connection.ping()
        return True

    def is_disconnect(self, e: Any, connection: Any, cursor: Any) -> bool:
        text = str(e)
        return ("does not exist" in text and "Session" in text) or "connection is closed" in text

    def _get_server_version_info(self, connection: Any) -> Any:
        return None

    def _get_default_schema_name(self, connection: Any) -> str:
        return str(connection.exec_driver_sql("SHOW CURRENT DATABASE").scalar())

    # -- what there is ------------------------------------------------------------------------------------------

    def _names(self, connection: Any, what: str, schema: str | None) -> list[str]:
        where = f" FROM {self.identifier_preparer.quote_schema(schema)}" if schema else ""
        return [row[0] for row in connection.exec_driver_sql(f"SHOW {what}{where}")]

    def get_schema_names(self, connection: Any, **kw: Any) -> list[str]:
        return self._names(connection, "DATABASES", None)

    def get_view_names(self, connection: Any, schema: str | None = None, **kw: Any) -> list[str]:
        return self._names(connection, "VIEWS", schema)

    def get_table_names(self, connection: Any, schema: str | None = None, **kw: Any) -> list[str]:
        views = set(self.get_view_names(connection, schema))
        return [name for name in self._names(connection, "TABLES", schema) if name not in views]

    def has_table(self, connection: Any, table_name: str, schema: str | None = None, **kw: Any) -> bool:
        return table_name in {*self._names(connection, "TABLES", schema), *self.get_view_names(connection, schema)}

    def _columns(self, connection: Any, table: str, schema: str | None) -> list[Any]:
        if not self.has_table(connection, table, schema):
            raise exc.NoSuchTableError(table if schema is None else f"{schema}.{table}")
        return list(connection.exec_driver_sql(f"DESCRIBE {self._path(table, schema)}").mappings())

    def _path(self, table: str, schema: str | None) -> str:
        quoted = self.identifier_preparer.quote_identifier(table)
        return quoted if schema is None else f"{self.identifier_preparer.quote_schema(schema)}.{quoted}"

    def get_columns(self, connection: Any, table_name: str, schema: str | None = None, **kw: Any) -> Any:
        found = []
        for row in self._columns(connection, table_name, schema):
            nullable = str(row["null"]).upper() == "TRUE"
            column: dict[str, Any] = {
                "name": row["name"],
                "type": alchemy_type(parse_type(_TIME_ATTRIBUTE.sub("", row["type"]))),
                "nullable": nullable,
                "default": None,
                "autoincrement": False,
                "comment": row.get("comment"),
            }
            extras = row.get("extras") or ""
            if extras.startswith("AS "):
                column["computed"] = {"sqltext": extras.removeprefix("AS ")}
            found.append(column)
        return found

    def get_pk_constraint(self, connection: Any, table_name: str, schema: str | None = None, **kw: Any) -> Any:
        rows = self._columns(connection, table_name, schema)
        key = next((found for row in rows if (found := _KEY.search(row["key"] or ""))), None)
        columns = [] if key is None else [name.strip() for name in key["columns"].split(",")]
        return {"constrained_columns": columns, "name": None}

    def get_view_definition(self, connection: Any, view_name: str, schema: str | None = None, **kw: Any) -> str:
        return str(connection.exec_driver_sql(f"SHOW CREATE VIEW {self._path(view_name, schema)}").scalar())

    def get_foreign_keys(self, connection: Any, table_name: str, schema: str | None = None, **kw: Any) -> Any:
        return []

    def get_indexes(self, connection: Any, table_name: str, schema: str | None = None, **kw: Any) -> Any:
        return []

    def get_unique_constraints(self, connection: Any, table_name: str, schema: str | None = None, **kw: Any) -> Any:
        return []

    def get_check_constraints(self, connection: Any, table_name: str, schema: str | None = None, **kw: Any) -> Any:
        return []

    def get_table_comment(self, connection: Any, table_name: str, schema: str | None = None, **kw: Any) -> Any:
        return {"text": None}
