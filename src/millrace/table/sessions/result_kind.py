"""Kinds of results of statements."""

from __future__ import annotations

from enum import Enum

__all__ = ["ResultKind"]


class ResultKind(Enum):
    """SUCCESS: the result says OK and nothing else (DDL, USE, SET); SUCCESS_WITH_CONTENT: it has rows.

        >>> t_env.execute_sql("CREATE DATABASE shop").get_result_kind()
        <ResultKind.SUCCESS: 0>
    """

    SUCCESS = 0
    SUCCESS_WITH_CONTENT = 1
