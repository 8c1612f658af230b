"""A place in a list of tokens, and the few ways to go on from it."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import ClassVar, NoReturn, Protocol, TypeVar

from millrace.table.sql import nodes
from millrace.table.sql.text import CLAUSES, RESERVED, Kind, Name, Path, Position, Source, SqlParseError, Token
from millrace.util.names import did_you_mean

N = TypeVar("N", bound=nodes.Node)
T = TypeVar("T")

_COMMENT = re.compile(r"--|//|/\*")
_BEGINNINGS = ("SELECT", "INSERT", "CREATE", "DROP", "ALTER", "SHOW", "USE", "DESCRIBE", "EXPLAIN", "EXECUTE", "BEGIN")
"""first words of statements, where no statement goes on with them"""


class CallReaders(Protocol):
    """What ``calls`` reads for the modules below it."""

    def starts(self, cursor: Cursor) -> bool: ...
    def call(self, cursor: Cursor) -> nodes.Node: ...
    def qualified(self, cursor: Cursor, parts: Sequence[nodes.Identifier], begin: int) -> nodes.Node: ...


class QueryReaders(Protocol):
    """What ``queries`` reads for the modules below it."""

    def starts(self, cursor: Cursor, distance: int = 0, nested: bool = True) -> bool: ...
    def query(self, cursor: Cursor) -> nodes.Query: ...
    def rest(self, cursor: Cursor, first: nodes.Query, begin: int) -> nodes.Query: ...
    def continues(self, cursor: Cursor) -> bool: ...
    def in_brackets(self, cursor: Cursor) -> nodes.Subquery: ...
    def table_name(self, cursor: Cursor) -> nodes.Table: ...


class Cursor:
    """Reads tokens in their order. Words are given in upper case; they match unquoted words and symbols alike."""

    calls: ClassVar[CallReaders]
    queries: ClassVar[QueryReaders]
    """readers of what expressions hold, which lie above them: the package sets them"""

    def __init__(self, source: Source, tokens: Sequence[Token]) -> None:
        self.source = source
        self._tokens = tokens
        self.index = 0

    @property
    def token(self) -> Token:
        return self._tokens[self.index]

    def peek(self, distance: int = 1) -> Token:
        return self._tokens[min(self.index + distance, len(self._tokens) - 1)]

    def advance(self) -> Token:
        token = self.token
        if token.kind is not Kind.END:
            self.index += 1
        return token

    def at(self, *words: str) -> bool:
        """Whether these words come next."""
        # Nearly always the first one decides: this is asked several times for every token.
        if self._tokens[self.index].word != words[0]:
            return False
        return len(words) == 1 or all(self.peek(distance).word == word for distance, word in enumerate(words))

    def at_any(self, *words: str) -> bool:
        """Whether one of these words comes next."""
        return self.token.word in words

    def take(self, *words: str) -> bool:
        """Step over these words if all of them come next."""
        if not self.at(*words):
            return False
        self.index += len(words)
        return True

    def take_any(self, *words: str) -> str:
        """Step over one of these words and give it; an empty text if none of them comes next."""
        return self.advance().word if self.at_any(*words) else ""

    def expect(self, *words: str) -> None:
        """Step over these words.

        :raises SqlParseError: something else comes next.
        """
        for word in words:
            if not self.take(word):
                if word == ")" and self.token.kind is not Kind.END:
                    self._fail_if_misspelt()
                self.fail_expecting(word if word.isalpha() else f"'{word}'")

    def expect_any(self, *words: str) -> str:
        """Step over one of these words and give it."""
        if not self.at_any(*words):
            self.fail_expecting(" or ".join(filter(None, [", ".join(words[:-1]), words[-1]])), words)
        return self.advance().word

    def expect_end(self) -> None:
        if self.token.kind is not Kind.END:
            if self.token.word in _BEGINNINGS:
                self.fail(f"{self.token.word} begins another statement, and there is no ';' before it")
            self._fail_if_misspelt()
            self.fail_expecting("the end of the statement")

    def _fail_if_misspelt(self) -> None:
        """Where a clause may begin: a misspelt keyword reads as a name, often as the alias of what stands before it."""
        for token in (self.token, self.peek(-1)):
            meant = did_you_mean(token.text, CLAUSES) if token.kind is Kind.WORD and token.word not in CLAUSES else ""
            if meant:
                message = f"'{self._shown(token)}' does not belong here{meant}"
                raise SqlParseError(message, Position(self.source, token.start, token.end))

    def fail(self, message: str, begin: int | None = None) -> NoReturn:
        """An error at the next token, or from token ``begin`` up to the last one that was read."""
        if begin is None:
            raise SqlParseError(message, Position(self.source, self.token.start, self.token.end))
        raise SqlParseError(message, self.span(begin))

    def fail_expecting(self, what: str, known: Sequence[str] = ()) -> NoReturn:
        """An error at the next token. ``known``: one of these words may have been meant."""
        token = self.token
        found = "the end of the statement" if token.kind is Kind.END else f"'{self._shown(token)}'"
        hint = did_you_mean(token.text, known)
        if what.startswith(("a name", "a new name", "a table")) and token.word in RESERVED:
            hint = f": {token.word} is a keyword, as a name it is written `{token.text}`"
        self.fail(f"expected {what}, found {found}{hint}")

    def _shown(self, token: Token) -> str:
        """A token as errors show it: it may be a password."""
        return self.source.without_secrets.text[token.start : token.end]

    def text_of(self, token: Token) -> str:
        return self.source.text[token.start : token.end]

    def is_name(self, distance: int = 0) -> bool:
        """Whether a name comes next: quoted, or not a keyword."""
        token = self.peek(distance)
        return token.kind is Kind.QUOTED or (token.kind is Kind.WORD and token.word not in RESERVED)

    def name(self, what: str = "a name", after_dot: bool = False) -> Name:
        """A name as text. ``after_dot``: keywords will do, if they follow the dot at once."""
        keyword = after_dot and self.token.kind is Kind.WORD and self.touches()
        if self.is_name() or keyword:
            return self._named(self.advance())
        return self.fail_expecting(what)

    def touches(self) -> bool:
        """Whether nothing stands between the last token and the next one."""
        return self.token.start == self.peek(-1).end

    def identifier(self, what: str = "a name", after_dot: bool = False) -> nodes.Identifier:
        begin, quoted = self.index, self.token.kind is Kind.QUOTED
        return self.put(nodes.Identifier(this=str(self.name(what, after_dot)), quoted=quoted), begin)

    def path(self, what: str = "a name") -> Path:
        """Names with dots between them."""
        names = [self.name(what)]
        while self.take("."):
            names.append(self.name(after_dot=True))
        return Path(names)

    def string(self, what: str = "a text in single quotes") -> Name:
        if self.token.kind is not Kind.STRING:
            self.fail_expecting(what)
        return self._named(self.advance())

    def unbroken(self, pattern: re.Pattern[str], what: str) -> Name:
        """The text that begins with the next token and matches a pattern, as it is written.

        :raises SqlParseError: a comment would begin in it.
        """
        if self.token.kind is Kind.END:
            self.fail_expecting(what)
        start = self.token.start
        match = pattern.match(self.source.text, start)
        if match is None or _COMMENT.search(match.group()):
            self.fail("what has blanks, quotes or the beginning of a comment in it stands in single quotes")
        while self.token.start < match.end():
            self.advance()
        return Name(match.group(), Position(self.source, start, match.end()))

    def _named(self, token: Token) -> Name:
        return Name(token.text, Position(self.source, token.start, token.end))

    def integer(self, what: str = "a whole number") -> int:
        if self.token.kind is not Kind.NUMBER or not self.token.text.isdigit():
            self.fail_expecting(what)
        return int(self.advance().text)

    def listed(self, item: Callable[[], T]) -> tuple[T, ...]:
        """Items with commas between them: one at least."""
        items = [item()]
        while self.take(","):
            items.append(item())
        return tuple(items)

    def in_brackets(self, item: Callable[[], T]) -> tuple[T, ...]:
        """``( item, .. )``: one at least."""
        self.expect("(")
        items = self.listed(item)
        self.expect(")")
        return items

    def span(self, begin: int) -> Position:
        """The text from token ``begin`` up to the last one that was read."""
        last = self._tokens[max(begin, self.index - 1)]
        return Position(self.source, self._tokens[begin].start, last.end)

    def put(self, node: N, begin: int) -> N:
        """A node that has just been made, with its place."""
        # Nobody else has the node yet; a copy of each would be a third of the time of parsing.
        object.__setattr__(node, "position", self.span(begin))
        return node
