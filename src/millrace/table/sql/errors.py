"""Errors of SQL texts, under the path that programs import them from."""

from __future__ import annotations

from millrace.table.sql.text import Position, SqlError, SqlParseError, SqlValidationError, position_of

__all__ = ["Position", "SqlError", "SqlParseError", "SqlValidationError", "position_of"]
