"""Flink SQL as a dialect of sqlglot: ``tree.sql("flink")``, ``sqlglot.parse_one(text, read="flink")``."""

from __future__ import annotations

from typing import Any

from sqlglot import exp, tokens
from sqlglot.dialects.dialect import Dialect

from millrace.table.sql.writing import FlinkGenerator


class Flink(Dialect):
    """Text comes from the generator, trees from the grammar of ``millrace.table.sql``."""

    NORMALIZE_FUNCTIONS = False

    class Tokenizer(tokens.Tokenizer):
        IDENTIFIERS = ["`"]
        QUOTES = ["'"]

    Generator = FlinkGenerator

    def parse(self, sql: str, **opts: Any) -> list[exp.Expr | None]:
        """The trees of queries.

        :raises SqlParseError: the text is none.
        """
        from millrace.table.sql.parser import parse_query

        return [parse_query(sql)]
