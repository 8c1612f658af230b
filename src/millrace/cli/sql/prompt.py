"""The prompt of the SQL client: reads lines up to a semicolon, with history, completion and coloured Flink SQL."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable

from prompt_toolkit import PromptSession
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document
from prompt_toolkit.history import FileHistory, History, InMemoryHistory
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.lexers import PygmentsLexer
from prompt_toolkit.patch_stdout import patch_stdout
from pygments.lexer import RegexLexer, words
from pygments.token import Comment, Keyword, Name, Number, Operator, Punctuation, String, Text

from millrace.cli.sql.client import Client
from millrace.cli.sql.executor import QuitError, Words
from millrace.cluster.gateway.sql_completion import KEYWORDS, TYPES
from millrace.table.sql.grammar.parser import is_complete
from millrace.util.secrets import mask_statement


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
