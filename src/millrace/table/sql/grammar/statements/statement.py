"""Statements by their first word."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from millrace.table.sql.grammar import queries
from millrace.table.sql.grammar.cursor import Cursor
from millrace.table.sql.grammar.statements import alter, create, dml, show, utility
from millrace.table.sql.statements import Statement
from millrace.table.sql.text.errors import did_you_mean
from millrace.table.sql.text.tokens import Kind

_READERS: dict[str, Callable[[Cursor], Statement]] = {
    "CREATE": create.create,
    "REPLACE": create.create,
    "DROP": create.drop,
    "ALTER": alter.alter,
    "INSERT": dml.insert,
    "BEGIN": dml.statement_block,
    "STATEMENT": dml.statement_set,
    "EXECUTE": utility.run,
    "COMPILE": utility.compile_plan,
    "DELETE": dml.delete,
    "UPDATE": dml.update,
    "TRUNCATE": dml.truncate,
    "CALL": dml.call,
    "EXPLAIN": utility.explain,
    "SHOW": show.show,
    "DESCRIBE": show.describe,
    "DESC": show.describe,
    "SUMMARIZE": show.summarize,
    "USE": show.use,
    "SET": utility.set_option,
    "RESET": utility.reset,
    "LOAD": utility.load,
    "UNLOAD": utility.unload,
    "ADD": utility.jar,
    "REMOVE": utility.jar,
    "STOP": utility.stop,
    "ANALYZE": utility.analyze,
    "HELP": utility.client_command,
    "CLEAR": utility.client_command,
    "QUIT": utility.client_command,
    "EXIT": utility.client_command,
}

_NO_TRANSACTIONS = "there are no transactions; BEGIN STATEMENT SET runs INSERTs as one job"

_ELSEWHERE = {
    "MERGE": "write INSERT INTO a table with a primary key",
    "GRANT": "there are no users",
    "REVOKE": "there are no users",
    "END": "it ends a statement set, and none has begun (BEGIN STATEMENT SET)",
    "COMMIT": _NO_TRANSACTIONS,
    "ROLLBACK": _NO_TRANSACTIONS,
    "START": _NO_TRANSACTIONS,
}


def statement(cursor: Cursor) -> Statement:
    """A whole statement, up to the end of the tokens.

    :raises SqlParseError: none, or more than one.
    """
    begin, token = cursor.index, cursor.token
    if queries.starts(cursor):
        found: Statement = dml.query(cursor)
    elif token.word in _READERS:
        found = _READERS[token.word](cursor)
    elif token.word in _ELSEWHERE:
        cursor.fail(f"{token.word} is not supported: {_ELSEWHERE[token.word]}")
    elif token.kind is Kind.END:
        cursor.fail("expected a statement, found nothing")
    else:
        meant = did_you_mean(token.text, [*_READERS, "SELECT", "WITH", "VALUES"])
        cursor.fail(f"no statement begins with '{cursor.text_of(token)}'{meant}")
    cursor.expect_end()
    return replace(found, position=cursor.span(begin))
