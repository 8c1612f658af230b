"""A script, cut into statements at its semicolons."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from millrace.table.sql.text.tokens import Kind, Token


def pieces(tokens: Sequence[Token]) -> Iterator[list[Token]]:
    """The tokens of each statement, and an END whose text is its semicolon. A statement set is one statement."""
    piece: list[Token] = []
    for token in tokens:
        ends = token.kind is Kind.END or (token.word == ";" and not _in_statement_set(piece))
        if not ends:
            piece.append(token)
        elif piece:
            yield [*piece, Token(Kind.END, token.text, piece[-1].end, piece[-1].end)]
            piece = []


def _in_statement_set(piece: Sequence[Token]) -> bool:
    """Whether these tokens begin a statement set, and do not end it."""
    words = [token.word for token in piece]
    begins = words[:3] == ["BEGIN", "STATEMENT", "SET"] or ["STATEMENT", "SET", "BEGIN"] in (
        words[start : start + 3] for start in range(min(len(words), 12))
    )
    # An END after a semicolon is the set's; one elsewhere is of CASE.
    return begins and words[-2:] != [";", "END"] and words[-2:] != ["BEGIN", "END"]


def is_complete(tokens: Sequence[Token]) -> bool:
    """Whether the last statement has its semicolon, or there is none."""
    return all(piece[-1].text for piece in pieces(tokens))
