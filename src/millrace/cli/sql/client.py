"""The SQL client: runs statements one after the other and shows their results."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from typing import Any

from millrace.cli.sql.executor import COMMANDS, Executor, QuitError, place
from millrace.cli.sql.results import (
    ARROW,
    RESULT_MODE,
    SCREEN,
    TABLEAU,
    VERBOSE,
    ClientSettings,
    Console,
    Lines,
    arrow_parts,
    cost,
    counts,
    formatted,
    listed,
    streamed,
    whole,
)
from millrace.table import TableResult
from millrace.table.sessions.table_result import ResultKind
from millrace.table.sql import statements as s
from millrace.table.sql.grammar.parser import statements_of
from millrace.table.sql.text import SqlError

Screen = Callable[[TableResult, ClientSettings, str], None]
"""shows a query's rows on the screen until the user leaves; the text is the time zone"""


class Client:
    """Runs statements and prints their results and errors.

    :param screen: shows results that change in place; None without a terminal.
    """

    def __init__(self, executor: Executor, console: Console, screen: Screen | None = None) -> None:
        self.executor = executor
        self.console = console
        self._screen = screen

    @property
    def settings(self) -> ClientSettings:
        return ClientSettings.of(self.executor.settings())

    def run(self, text: str, name: str | None = None) -> bool:
        """Run the statements of a text up to the first one that fails, whose error is printed. Returns whether all
        succeeded.

        :param name: name of the file that they come from.
        :raises QuitError: a statement is QUIT.
        :raises KeyboardInterrupt: Ctrl-C interrupted a statement.
        """
        statement: s.Statement | None = None
        try:
            for statement in statements_of(text):
                self._run(statement)
        except (QuitError, KeyboardInterrupt):
            raise
        except Exception as error:
            at = f"{name}:{place(error, statement)}: " if name is not None else ""
            self.tell(error, at)
            return False
        return True

    def tell(self, error: BaseException, before: str = "") -> None:
        """Print the reason of a failure."""
        verbose = self.executor.settings().get(VERBOSE, "false").lower() == "true"
        self.console.error(before + self.executor.reason(error, verbose))

    def tell_failed_jobs(self) -> bool:
        """Print which INSERTs have failed since the last call; returns whether there are any."""
        found = list(self.executor.failures())
        for job, error in found:
            self.tell(error, f"{job}: ")
        return bool(found)

    # -- one statement ------------------------------------------------------------------------------------------

    def _run(self, statement: s.Statement) -> None:
        begin = time.monotonic()
        command = COMMANDS.get(type(statement))
        if command is not None and command(statement, self):
            return
        if isinstance(statement, s.Query):
            self._query(statement, begin)
            return
        result = self.executor.perform(statement)
        if result.get_result_kind() is ResultKind.SUCCESS_WITH_CONTENT and _writes(statement):
            self._insert(result, begin)
        elif result.get_result_kind() is ResultKind.SUCCESS:
            self.console.info(f"Execute statement succeeded.{cost(self.settings, begin)}")
        elif self.settings.output == SCREEN or result._layout == "plain":
            self.console.show(listed(result, self.settings, begin))
        else:
            self._for_programs(result, False)

    def _query(self, statement: s.Query, begin: float) -> None:
        settings, zone, streaming = self.settings, self.executor.zone, self.executor.streaming
        if settings.output != SCREEN:
            self._for_programs(self.executor.perform(statement), streaming)
            return
        if settings.mode != TABLEAU and self._screen is None:
            raise SqlError(
                f"'{RESULT_MODE}' is '{settings.mode}', which needs a terminal to look at: SET it to '{TABLEAU}'"
            )
        result = self.executor.perform(statement)
        if settings.mode != TABLEAU and self._screen is not None:
            self._screen(result, settings, zone)
            return
        show = streamed if streaming else whole
        with contextlib.closing(show(result, settings, zone, begin)) as lines:
            try:
                self.console.show(lines)
            except KeyboardInterrupt as stop:
                self.console.show(_last_lines(lines, stop))
                raise

    def _for_programs(self, result: TableResult, streaming: bool) -> None:
        """Print rows for another program, without any text around them, however the query ends."""
        if self.settings.output == ARROW:
            with contextlib.closing(arrow_parts(result, self.executor.zone, streaming)) as parts:
                self.console.write(parts)
            return
        with contextlib.closing(formatted(result, self.settings.output, self.executor.zone, streaming)) as lines:
            self.console.show(lines)

    def _insert(self, result: TableResult, begin: float) -> None:
        client: Any = result.get_job_client()
        settings = self.settings
        self.console.info("The job has been submitted.")
        self.console.say(f"Job ID: {client.get_job_id()}")
        if settings.wait_for_inserts:
            self.executor.wait(result)
            self.console.info(f"The job has finished.{cost(settings, begin)}")
            for table, count in counts(result):
                if count >= 0:
                    self.console.info(f"Written into {table}: {count} {'row' if count == 1 else 'rows'}")


def _writes(statement: s.Statement) -> bool:
    """Whether a statement writes to tables."""
    if isinstance(statement, s.CreateTable):
        return statement.query is not None
    if isinstance(statement, s.StatementSet):
        return bool(statement.inserts)
    return isinstance(statement, s.Insert)


def _last_lines(lines: Lines, stop: KeyboardInterrupt) -> Iterator[str]:
    """Print a query's end after Ctrl-C, which may have interrupted a printed line; nothing if the query has reported it
    already."""
    first = lines.throw(stop)
    yield ""
    yield first
    yield from lines
