"""Flink SQL in colours."""

from __future__ import annotations

import re

from pygments.lexer import RegexLexer, words
from pygments.token import Comment, Keyword, Name, Number, Operator, Punctuation, String, Text

from millrace.cluster.sql.words import KEYWORDS, TYPES


class FlinkSqlLexer(RegexLexer):  # type: ignore[misc]
    """Names in backticks, hints and Flink's own words; what is not closed yet, too."""

    name = "Flink SQL"
    aliases = ["flinksql"]
    flags = re.IGNORECASE

    tokens = {
        "root": [
            (r"\s+", Text),
            (r"(--|//).*", Comment.Single),
            (r"/\*\+[^*]*(\*/|$)", Comment.Preproc),
            (r"/\*", Comment.Multiline, "comment"),
            (r"'([^']|'')*'?", String.Single),
            (r"`([^`]|``)*`?", Name.Variable),
            (r"(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?", Number),
            (words(sorted(TYPES), suffix=r"\b"), Keyword.Type),
            (words(sorted(KEYWORDS), suffix=r"\b"), Keyword),
            (r"[a-z_$][\w$]*(?=\s*\()", Name.Function),
            (r"[^\W\d][\w$]*", Name),
            (r"[-+*/%=<>!|]+", Operator),
            (r".", Punctuation),
        ],
        "comment": [(r"\*/", Comment.Multiline, "#pop"), (r"[^*]+|\*", Comment.Multiline)],
    }
