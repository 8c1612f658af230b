"""Results on the whole screen, with keys from a pipe."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

import pytest
from prompt_toolkit.application import create_app_session
from prompt_toolkit.input import PipeInput, create_pipe_input
from prompt_toolkit.output import DummyOutput

from millrace.cli.sql.full_screen import ResultScreen
from millrace.cli.sql.results import CHANGELOG, TABLE, ClientSettings
from millrace.common.types import Row
from millrace.relational import types as t
from millrace.relational.nodes import Field
from millrace.table import TableResult

TABLE_TEXT = """\
table: 2 rows of 4 changes, query finished, page 1 of 1
+----------+-------------+
|     name |           n |
+----------+-------------+
|        a |           2 |
|        b |           1 |"""

CHANGELOG_TEXT = """\
changelog: 3 rows of 4 changes, 1 oldest left out, query finished, page 2 of 2
+----+----------+-------------+
| op |     name |           n |
+----+----------+-------------+
| +U |        a |           2 |"""

CHANGES = [("+I", ("a", 1)), ("+I", ("b", 1)), ("-U", ("a", 1)), ("+U", ("a", 2))]


@pytest.fixture
def keyboard() -> Iterator[PipeInput]:
    with create_pipe_input() as typed, create_app_session(input=typed, output=DummyOutput()):
        yield typed


def settings(mode: str, most: int = 100) -> ClientSettings:
    return ClientSettings(mode=mode, max_rows=most, max_width=8)


def read_all(screen: ResultScreen) -> None:
    """As the thread beside the screen does."""
    screen._read()


def test_a_table(keyboard: PipeInput, fake_result: Callable[..., TableResult]) -> None:
    screen = ResultScreen(fake_result(CHANGES), settings(TABLE), "UTC")
    read_all(screen)
    assert screen.text(24) == TABLE_TEXT


def test_a_changelog_in_pages(keyboard: PipeInput, fake_result: Callable[..., TableResult]) -> None:
    screen = ResultScreen(fake_result(CHANGES), settings(CHANGELOG, 3), "UTC")
    read_all(screen)
    assert screen.text(7) == CHANGELOG_TEXT


def test_q_leaves_and_ends_the_query(keyboard: PipeInput) -> None:
    closed = threading.Event()

    def rows() -> Iterator[Row]:
        yield Row("a", 1)
        assert closed.wait(60)  # an endless query: it ends when it is cancelled

    columns = (Field("name", t.string()), Field("n", t.IntType()))
    keyboard.send_text("npflrq")
    ResultScreen(TableResult(columns, rows(), close=closed.set), settings(TABLE), "UTC").run()
    assert closed.is_set()


def test_a_query_that_fails_leaves_the_screen(keyboard: PipeInput) -> None:
    def rows() -> Iterator[Row]:
        yield Row("a", 1)
        raise ValueError("bad row")

    columns = (Field("name", t.string()), Field("n", t.IntType()))
    screen = ResultScreen(TableResult(columns, rows()), settings(TABLE), "UTC")
    with pytest.raises(ValueError, match="bad row"):
        screen.run()
