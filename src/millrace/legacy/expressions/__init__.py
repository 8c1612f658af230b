"""Expressions as text, Flink's language before ``col("a")``: ``"word, count(1) as c"``."""

from __future__ import annotations

from millrace.legacy.expressions.reader import read_expressions

__all__ = ["read_expressions"]
