"""The SQL client in a terminal: the prompt, which reads lines up to a semicolon, with history, completion and coloured
Flink SQL; and a result on the whole screen, a table that changes and grows while the user pages through it.
"""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import Any, TypeVar

from prompt_toolkit import PromptSession
from prompt_toolkit.application import Application, get_app
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.history import FileHistory, History, InMemoryHistory
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.layout import HSplit, Layout, Window
from prompt_toolkit.layout.controls import FormattedTextControl
from prompt_toolkit.lexers import PygmentsLexer
from prompt_toolkit.patch_stdout import patch_stdout
from pygments.lexer import RegexLexer, words
from pygments.token import Comment, Keyword, Name, Number, Operator, Punctuation, String, Text

from millrace.cli.sql.client import Client
from millrace.cli.sql.executor import QuitError, Words
from millrace.cli.sql.results import TABLE, ClientSettings, cells_of, names_of, widths_of
from millrace.cli.sql.views import ChangelogView, TableView, View
from millrace.cluster.gateway.sql_completion import KEYWORDS, TYPES
from millrace.table import TableResult
from millrace.table.sql.grammar.parser import is_complete
from millrace.table.values import printed_tables
from millrace.util.secrets import mask_statement

# The prompt


class FlinkSqlLexer(RegexLexer):  # type: ignore[misc]
    """A lexer for Flink SQL: names in backticks, hints, Flink's own words, and unclosed quotes."""

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


PROMPT = "Millrace SQL> "
_GOES_ON = "> ".rjust(len(PROMPT))
HISTORY = "~/.millrace-sql-history"
_COMMANDS = frozenset({"quit", "exit", "help", "clear"})

WELCOME = "Statements end with a semicolon. HELP; shows what there is, QUIT; leaves."


class SqlCompleter(Completer):
    def __init__(self, words: Words) -> None:
        self._words = words

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        for each in self._words.of(document.text_before_cursor, document.text_after_cursor):
            yield Completion(each.text, -each.length, display_meta=each.kind)


def is_whole(text: str) -> bool:
    """Whether Enter ends the input: each statement has its semicolon, or it is a command that needs none."""
    stripped = text.strip()
    return not stripped or stripped.lower() in _COMMANDS or (stripped.endswith(";") and is_complete(text))


def keys() -> KeyBindings:
    """Enter ends the input or begins a new line; Alt-Enter always begins one."""
    bindings = KeyBindings()

    @bindings.add("enter")
    def _(event: KeyPressEvent) -> None:
        buffer: Buffer = event.current_buffer
        if is_whole(buffer.text):
            buffer.validate_and_handle()
        else:
            buffer.newline(copy_margin=True)

    @bindings.add("escape", "enter")
    def _(event: KeyPressEvent) -> None:
        event.current_buffer.newline(copy_margin=True)

    return bindings


def prompt_session(client: Client, history: str | None = None) -> PromptSession[str]:
    """:param history: a file; default: ~/.millrace-sql-history."""
    return PromptSession(
        PROMPT,
        history=_history(client, os.path.expanduser(history or HISTORY)),
        lexer=PygmentsLexer(FlinkSqlLexer),
        completer=SqlCompleter(client.executor.words()),
        complete_while_typing=False,
        multiline=True,
        prompt_continuation=_GOES_ON,
        key_bindings=keys(),
        enable_open_in_editor=True,
    )


def _history(client: Client, path: str) -> History:
    """The history of earlier input; in memory only, if its file cannot be written."""
    try:
        os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
        with open(path, "ab", opener=_private) as file:
            os.chmod(file.fileno(), 0o600)  # one that is there may be older than this
            return PrivateHistory(path)
    except OSError as error:
        client.console.warning(f"what you type is not kept: {error}")
        return InMemoryHistory()


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


class PrivateHistory(FileHistory):
    """A history that stores statements without their secrets; within the session they are recalled in full."""

    def store_string(self, string: str) -> None:
        super().store_string(mask_statement(string))


def interact(client: Client, history: str | None = None) -> None:
    """Read and run statements until the user leaves. Ctrl-C drops the input, or ends the running statement."""
    client.console.info(WELCOME)
    session = prompt_session(client, history)
    warned = False
    while True:
        try:
            text = _read(session)
            client.tell_failed_jobs()
            if text is not None:
                _run(client, text)
                warned = False
        except (EOFError, QuitError):
            if warned or not _warn(client):
                return
            warned = True


def _read(session: PromptSession[str]) -> str | None:
    """Read the next input; None after Ctrl-C."""
    try:
        # What jobs print meanwhile goes above the prompt.
        with patch_stdout(raw=True):
            return session.prompt()
    except KeyboardInterrupt:
        return None


def _run(client: Client, text: str) -> None:
    try:
        client.run(text)
    except KeyboardInterrupt:
        client.console.info("The statement has been cancelled.")


def _warn(client: Client) -> bool:
    """Print which jobs would end with the client; returns whether there are any."""
    running = client.executor.running()
    for job in running:
        client.console.warning(f"{job} runs, and would be cancelled.")
    if running:
        client.console.say("STOP JOB '<id>' WITH SAVEPOINT keeps its state. Leave once more to cancel.")
    return bool(running)


# Results on the whole screen

T = TypeVar("T")
"""A row."""


class Pages:
    """The page that is shown. The last page stays the last while rows arrive."""

    def __init__(self) -> None:
        self._page: int | None = None
        """number of the page, from 0; None: the last page"""
        self._count = 1

    def shown(self, rows: Sequence[T], size: int) -> Sequence[T]:
        """The rows of the page.

        :param size: rows of a page.
        """
        size = max(size, 1)
        self._count = max(-(-len(rows) // size), 1)
        if self._page is not None and self._page >= self._count:
            self._page = self._count - 1
        page = self._count - 1 if self._page is None else self._page
        return rows[page * size : (page + 1) * size]

    @property
    def text(self) -> str:
        page = self._count if self._page is None else self._page + 1
        return f"page {page} of {self._count}"

    def next(self) -> None:
        if self._page is not None:
            self._page = self._page + 1 if self._page + 1 < self._count - 1 else None

    def previous(self) -> None:
        page = self._count - 1 if self._page is None else self._page
        self._page = max(page - 1, 0)

    def first(self) -> None:
        self._page = 0

    def last(self) -> None:
        self._page = None


REFRESH_SECONDS = 0.5
_AROUND = 5
"""lines of the screen that hold no rows: title, frame, column names, keys"""


class ResultScreen:
    """Reads a result on a thread of its own and shows the rows that have arrived."""

    def __init__(self, result: TableResult, settings: ClientSettings, zone: str) -> None:
        self._result = result
        self._texts = cells_of(result, zone)
        self._mode = settings.mode
        names, widths = list(names_of(result)), widths_of(result, settings)
        self._view: View
        if settings.mode == TABLE:
            self._view = TableView(settings.max_rows)
        else:
            self._view = ChangelogView(settings.max_rows)
            names, widths = [printed_tables.OP, *names], [len(printed_tables.OP), *widths]
        self._names, self._widths = names, widths
        self._lock = threading.Lock()
        self._pages = Pages()
        self._left = False
        self._over = False
        self.error: BaseException | None = None
        self.app: Application[None] = self._application()

    def run(self) -> None:
        """Show the result until the user leaves; then the query ends, too.

        :raises Exception: what made the query fail.
        """
        reader = threading.Thread(target=self._read, name="millrace-sql-rows", daemon=True)
        try:
            self.app.run(pre_run=reader.start)
        finally:
            self._left = True
            self._result.collect().close()
            if reader.ident is not None:
                reader.join()
        if self.error is not None:
            raise self.error

    def _read(self) -> None:
        try:
            for row in self._result.collect():
                with self._lock:
                    self._view.add(row.get_row_kind(), self._texts(row))
                self._redraw()
        except BaseException as error:
            # Leaving cancels the query, which is no failure.
            self.error = None if self._left else error
            if not self._left:
                self._leave()
        self._over = True
        self._redraw()

    def _redraw(self) -> None:
        """Redraw from the screen's thread, which may end at any moment and remove what drawing needs."""
        self._soon(self.app.invalidate)

    def _leave(self) -> None:
        self._soon(self._exit)

    def _soon(self, action: Callable[[], None]) -> None:
        loop = self.app.loop
        if loop is not None:
            with suppress(RuntimeError):  # closed meanwhile
                loop.call_soon_threadsafe(action)

    def _exit(self) -> None:
        if self.app.future is not None and not self.app.future.done():
            self.app.exit()

    # -- what is seen -------------------------------------------------------------------------------------------

    def text(self, height: int) -> str:
        """The screen as text.

        :param height: lines of the terminal.
        """
        with self._lock:
            rows, received, forgotten = self._view.rows(), self._view.received, self._view.forgotten
        shown = self._pages.shown(rows, height - _AROUND)
        state = "finished" if self._over else "running"
        gone = f", {forgotten} oldest left out" if forgotten else ""
        title = f"{self._mode}: {len(rows)} rows of {received} changes{gone}, query {state}, {self._pages.text}"
        lines = [title, *printed_tables.header(self._names, self._widths)]
        lines += [printed_tables.line(cells, self._widths) for cells in shown]
        return "\n".join(lines)

    def _application(self) -> Application[None]:
        body = FormattedTextControl(self._formatted)
        foot = FormattedTextControl("Q quit  N next page  P previous page  F first page  L last page  R refresh")
        layout = Layout(HSplit([Window(body), Window(foot, height=1, style="reverse")]))
        return Application(layout, key_bindings=self._keys(), full_screen=True, min_redraw_interval=REFRESH_SECONDS)

    def _formatted(self) -> StyleAndTextTuples:
        return [("", self.text(get_app().output.get_size().rows))]

    def _keys(self) -> KeyBindings:
        bindings = KeyBindings()
        actions: dict[Callable[[], None], tuple[str, ...]] = {
            self._pages.next: ("n", "pagedown", "right"),
            self._pages.previous: ("p", "pageup", "left"),
            self._pages.first: ("f", "home"),
            self._pages.last: ("l", "end"),
            self._exit: ("q", "escape", "c-c"),
            _nothing: ("r",),
        }
        for action, names in actions.items():
            for name in names:
                bindings.add(name)(_handler(action))
        return bindings


def _nothing() -> None:
    """Handle any other key: the screen is redrawn after each key."""


def _handler(action: Callable[[], None]) -> Callable[[KeyPressEvent], Any]:
    def handle(event: KeyPressEvent) -> None:
        action()
        event.app.invalidate()

    return handle


def show_on_screen(result: TableResult, settings: ClientSettings, zone: str) -> None:
    """Show a query's rows until the user has seen enough."""
    ResultScreen(result, settings, zone).run()
