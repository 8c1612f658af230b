"""SQL in colours."""

from __future__ import annotations

import pytest
from pygments.token import Comment, Keyword, Name, Number, String

from millrace.cli.sql.full_screen import FlinkSqlLexer


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("select", Keyword),
        ("WATERMARK", Keyword),
        ("bigint", Keyword.Type),
        ("TIMESTAMP_LTZ", Keyword.Type),
        ("orders", Name),
        ("selected", Name),
        ("`select`", Name.Variable),
        ("'it''s'", String.Single),
        ("'open", String.Single),
        ("-- select", Comment.Single),
        ("/*+ STATE_TTL('a'='1d') */", Comment.Preproc),
        ("1.5e3", Number),
    ],
)
def test_kinds(text: str, kind: object) -> None:
    ((found, value),) = [pair for pair in FlinkSqlLexer().get_tokens(text) if pair[1].strip()]
    assert (found, value.rstrip("\n")) == (kind, text)


def test_functions_and_comments_over_lines() -> None:
    tokens = [pair for pair in FlinkSqlLexer().get_tokens("count(x) /* a\n* b */ y") if pair[1].strip()]
    assert tokens[0] == (Name.Function, "count")
    assert tokens[-1] == (Name, "y")
    assert "".join(text for kind, text in tokens if kind is Comment.Multiline) == "/* a\n* b */"
