"""Statements of SQLAlchemy in Flink's SQL."""

from __future__ import annotations

from typing import Any

from sqlalchemy.sql import compiler

from millrace.dbapi.literals import literal
from millrace.table.sql.grammar.keywords import RESERVED


class MillracePreparer(compiler.IdentifierPreparer):
    """Names in backticks. A schema is a database, or ``catalog.database``."""

    reserved_words = {word.lower() for word in RESERVED}

    def __init__(self, dialect: Any, **kw: Any) -> None:
        super().__init__(dialect, initial_quote="`", escape_quote="`", **kw)

    def quote_schema(self, schema: str, force: Any = None) -> str:
        return ".".join(self.quote(part) for part in schema.split("."))


class MillraceCompiler(compiler.SQLCompiler):
    """Queries and INSERTs."""

    def limit_clause(self, select: Any, **kw: Any) -> str:
        text = ""
        if select._limit_clause is not None:
            text += f"\n LIMIT {self.process(select._limit_clause, **kw)}"
        if select._offset_clause is not None:
            text += f"\n OFFSET {self.process(select._offset_clause, **kw)} ROWS"
        return text

    def for_update_clause(self, select: Any, **kw: Any) -> str:
        """There are no locks."""
        return ""

    def visit_now_func(self, fn: Any, **kw: Any) -> str:
        return "CURRENT_TIMESTAMP"


class MillraceDdlCompiler(compiler.DDLCompiler):
    """CREATE TABLE with ``millrace_with={"connector": ...}`` and ``millrace_partitioned_by=[...]``."""

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
