"""Every statement kind is read, and queries say the same when they are written again."""

from __future__ import annotations

import dataclasses
import pickle
import re
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.corpus import corpus
from tests.table.sql.corpus import QUERIES, STATEMENTS

from millrace.table.sql import nodes, statements
from millrace.table.sql.grammar.parser import parse_query, parse_statement
from millrace.table.sql.statements import Statement
from millrace.table.sql.text import SqlParseError, position_of
from millrace.table.sql.writing import written

ALL = [(kind, text) for kind, texts in STATEMENTS.items() for text in texts]
TOKEN = re.compile(r"'[^']*'|`[^`]*`|\w+|\s+|.")
TOKENS = sorted({token for _, text in ALL for token in TOKEN.findall(text)})


def test_the_corpus_is_large_and_has_every_statement() -> None:
    kinds = {
        name
        for name in statements.__all__
        if isinstance(getattr(statements, name), type) and issubclass(getattr(statements, name), statements.Statement)
    }
    assert kinds - {"Statement"} == set(STATEMENTS)
    assert len(ALL) >= 250


@corpus(("kind", "text"), ALL, 262)
def test_statements_have_their_class_and_text(kind: str, text: str) -> None:
    found = parse_statement(text)
    assert type(found).__name__ == kind
    assert found.text == text


@corpus(("kind", "text"), ALL, 262)
def test_spaces_comments_and_case_of_keywords_mean_nothing(kind: str, text: str) -> None:
    spaced = f"/* first ; ' */\n{_apart(text)}\n-- last ; '\n;"
    assert parse_statement(spaced) == parse_statement(text)


@corpus("text", QUERIES, 106)
def test_queries_say_the_same_when_written_again(text: str) -> None:
    tree = parse_query(text)
    assert parse_query(written(tree)) == tree


@corpus("text", QUERIES, 106)
def test_every_node_of_a_query_has_a_place(text: str) -> None:
    for node in parse_query(text).walk():
        position = position_of(node)
        assert position is not None or not list(node.children()), node
        if isinstance(node, (nodes.Identifier, nodes.Literal)) and position is not None and node.name:
            assert node.name[0] in position.text


@corpus(("kind", "text"), ALL[::5], 53)
def test_statements_can_be_pickled(kind: str, text: str) -> None:
    found = parse_statement(text)
    assert pickle.loads(pickle.dumps(found)) == found


@corpus(("kind", "text"), ALL, 262)
def test_a_statement_without_its_last_token_fails_or_means_something_else(kind: str, text: str) -> None:
    shorter = text.rsplit(None, 1)[0] if " " in text else ""
    assert _read(shorter) != parse_statement(text)


def _read(text: str) -> Statement | None:
    try:
        return parse_statement(text)
    except SqlParseError:
        return None


@given(st.sampled_from([text for _, text in ALL]), st.data())
def test_whatever_is_typed_is_read_or_refused_with_a_place(text: str, data: st.DataObject) -> None:
    tokens = TOKEN.findall(text)
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(tokens)))
        tokens[at : at + data.draw(st.integers(0, 1))] = data.draw(st.lists(st.sampled_from(TOKENS), max_size=2))
    try:
        position = parse_statement("".join(tokens)).position
    except SqlParseError as error:
        position = error.position
    assert position is not None


def test_statements_are_frozen() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        parse_statement("USE db").path = ()  # type: ignore[attr-defined]


def _apart(text: str) -> str:
    """The text with a comment or a line break for every blank outside of quotes."""
    return "".join(_pieces(text))


def _pieces(text: str) -> Iterator[str]:
    quote, blanks = "", 0
    for char in text:
        if char in "'`" and quote in ("", char):
            quote = "" if quote else char
        if char == " " and not quote:
            blanks += 1
            yield "\n\t" if blanks % 2 else " /* ; ' */ "
        else:
            yield char
