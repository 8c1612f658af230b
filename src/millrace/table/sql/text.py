"""The text of SQL: source text and positions in it, tokens (comments are dropped; hints ``/*+ .. */`` are not
comments), names and keys of a statement with their positions, errors that show the position, the reserved words; and
``Cursor``, a position in a list of tokens with the few ways to move on from it."""

from __future__ import annotations

import enum
import re
import unicodedata
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import Any, NamedTuple, NoReturn, TypeVar

from millrace.table.sql import nodes
from millrace.util.java_errors import CaughtAsJavaError
from millrace.util.names import did_you_mean as did_you_mean
from millrace.util.record import Record
from millrace.util.secrets import blot

# Words with a meaning


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


RESERVED = _words(
    """
    ALL AND ANY ARRAY AS BETWEEN BOTH BY CASE CAST CREATE CROSS CUBE DELETE DESCRIBE DISTINCT DROP ELSE END ESCAPE
    EXCEPT EXISTS FALSE FETCH FOR FROM FULL GROUP GROUPING HAVING IN INNER INSERT INTERSECT INTO IS JOIN LATERAL
    LEADING LEFT LIKE LIMIT MATCH_RECOGNIZE MINUS NATURAL NOT NULL OFFSET ON OR ORDER OUTER OVER OVERLAPS PARTITION
    PIVOT PRIMARY QUALIFY RIGHT ROLLUP ROW SELECT SET SIMILAR SOME TABLE TABLESAMPLE THEN TO TRAILING TRUE TRY_CAST
    UNION UNIQUE UNKNOWN UNNEST UNPIVOT UPDATE USING VALUES WHEN WHERE WINDOW WITH WITHIN
    """
)
"""Words that are names only in backticks. Flink reserves more words; here those are names wherever no clause can be
meant."""

CLAUSES = _words(
    """
    FROM WHERE GROUP HAVING WINDOW QUALIFY ORDER LIMIT OFFSET FETCH UNION INTERSECT EXCEPT JOIN INNER CROSS NATURAL
    BETWEEN LIKE AND
    """
)
"""What a misspelt word at a wrong place may have meant."""

UNITS = _words(
    """
    NANOSECOND MICROSECOND MILLISECOND SECOND MINUTE HOUR DAY WEEK MONTH QUARTER YEAR DECADE CENTURY MILLENNIUM
    EPOCH DOW DOY ISODOW ISOYEAR
    """
)
"""Units of time, for EXTRACT, FLOOR, CEIL, TIMESTAMPADD and TIMESTAMPDIFF."""


# Places


class Source(Record):
    """The text that a script or a statement came from. Trees refer to it, so copies of a tree share it."""

    text: str

    def __deepcopy__(self, memo: dict[int, Any]) -> Source:
        return self

    @cached_property
    def _line_starts(self) -> list[int]:
        return [0, *(index + 1 for index, char in enumerate(self.text) if char == "\n")]

    def place(self, offset: int) -> tuple[int, int]:
        """Line and column of a character, both counted from 1."""
        line = bisect_right(self._line_starts, offset)
        return line, offset - self._line_starts[line - 1] + 1

    def line(self, number: int) -> str:
        """A line, counted from 1, without its end."""
        begin = self._line_starts[number - 1]
        return self.text[begin:].split("\n", 1)[0].rstrip("\r")

    @cached_property
    def without_secrets(self) -> Source:
        """This text with the characters of secrets masked, for errors. All positions stay the same."""
        return Source(blot(self.text))

    def excerpt(self, start: int, end: int) -> str:
        """The line of ``start``, and below it a caret under every character up to ``end`` (or the end of the line).
        Secrets are blotted out."""
        number, column = self.place(start)
        line = self.without_secrets.line(number)
        before = "".join(_blank(char) for char in line[: column - 1])
        marked = line[column - 1 : column - 1 + max(end - start, 1)]
        return f"{line}\n{before}{'^' * max(sum(map(_width, marked)), 1)}"


def _width(char: str) -> int:
    """Columns of a terminal: Chinese characters take two."""
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def _blank(char: str) -> str:
    return "\t" if char == "\t" else " " * _width(char)


# Errors


class Position(Record):
    """The position of a piece of text: its characters from ``start`` to ``end`` (exclusive)."""

    source: Source
    start: int
    end: int

    @property
    def line(self) -> int:
        return self.source.place(self.start)[0]

    @property
    def column(self) -> int:
        return self.source.place(self.start)[1]

    @property
    def text(self) -> str:
        return self.source.text[self.start : self.end]

    def __deepcopy__(self, memo: dict[int, Any]) -> Position:
        return self


def position_of(tree: nodes.Node | None) -> Position | None:
    """The place of a node: its own, else that of the first of its parts that has one. None: a program made it."""
    if tree is None:
        return None
    return next((node.position for node in tree.walk() if node.position is not None), None)


class SqlError(ValueError, CaughtAsJavaError):
    """A statement that cannot be run. ``line`` and ``column`` count from 1; both are None if the place is unknown."""

    def __init__(self, message: str, position: Position | None = None) -> None:
        self.message = message
        self.position = position
        self.line = position and position.line
        self.column = position and position.column
        super().__init__(message if position is None else f"{message}\n{_shown(position)}")

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.message, self.position)


class SqlParseError(SqlError):
    """Text that is not Flink SQL, or a part of it that is not supported."""


class SqlValidationError(SqlError):
    """A statement that reads well and means nothing: an unknown column, types that do not fit."""

    @classmethod
    def at(cls, tree: nodes.Node | None, message: str) -> SqlValidationError:
        """An error at the place of a node."""
        return cls(message, position_of(tree))


def _shown(position: Position) -> str:
    excerpt = position.source.excerpt(position.start, position.end).replace("\n", "\n  ")
    return f"at line {position.line}, column {position.column}:\n  {excerpt}"


# Names


class Name(str):
    """A name, or a text such as the key of an option. Equal to the plain text."""

    position: Position | None

    def __new__(cls, text: str, position: Position | None = None) -> Name:
        made = super().__new__(cls, text)
        made.position = position
        return made


class Path(tuple[Name, ...]):
    """The names of ``catalog.database.object`` as written. Equal to a plain tuple of texts."""

    def __new__(cls, names: Iterable[Name]) -> Path:
        return super().__new__(cls, names)

    @property
    def position(self) -> Position | None:
        """The position from the beginning of the first name to the end of the last one."""
        first, last = (self[0].position, self[-1].position) if self else (None, None)
        return Position(first.source, first.start, last.end) if first and last else None

    def __str__(self) -> str:
        return ".".join(self)


# Tokens


class Kind(enum.Enum):
    WORD = "word"
    QUOTED = "quoted name"
    STRING = "string"
    HEX = "binary string"
    NUMBER = "number"
    SYMBOL = "symbol"
    END = "end of the text"


class Token(Record):
    """``text`` is the value (quotes and escapes gone), ``word`` an unquoted word or a symbol in upper case, else ''."""

    kind: Kind
    text: str
    start: int
    end: int
    word: str = ""


_PATTERN = re.compile(
    r"""
    (?P<skip>     \s+ | --[^\n]* | //[^\n]* | /\*(?!\+).*?\*/ )
  | (?P<unicode>  [uU]& '(?P<coded>(?:[^']|'')*)' (?: \s* UESCAPE \s* '(?P<escape>[^'])' )? )
  | (?P<string>   (?P<prefix> [xXnN] | _[A-Za-z0-9\-]+ )? '(?P<value>(?:[^']|'')*)' )
  | (?P<quoted>   `(?P<name>(?:[^`]|``)+)` )
  | (?P<number>   (?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)? )
  | (?P<word>     (?:[^\W\d]|\$)[\w$]* )
  | (?P<symbol>   /\*\+ | <> | != | <= | >= | \|\| | => | \{- | -\} | /(?!\*) | [-+*%(),.;:=<>\[\]{}?|^&@#!~\\] )
    """,
    re.VERBOSE | re.DOTALL | re.IGNORECASE,
)

_BROKEN = {
    "'": "this text has no closing quote",
    "`": "this name has no closing backtick",
    "/": "this comment has no end",
    '"': "double quotes are not used: write text in 'single quotes' and names in `backticks`",
}


def tokenize(source: Source) -> list[Token]:
    """All tokens, and an END after them.

    :raises SqlParseError: a text, name or comment without an end, or a character that begins nothing.
    """
    tokens: list[Token] = []
    text, at, in_hint = source.text, 0, False
    while at < len(text):
        if in_hint and text.startswith("*/", at):
            tokens.append(Token(Kind.SYMBOL, "*/", at, at + 2, "*/"))
            at, in_hint = at + 2, False
            continue
        match = _PATTERN.match(text, at)
        if match is None:
            message = _BROKEN.get(text[at], f"the character {text[at]!r} is not part of SQL")
            raise SqlParseError(message, Position(source, at, at + 1))
        if match.lastgroup != "skip":
            tokens.append(_token(match, source))
            in_hint = in_hint or tokens[-1].text == "/*+"
        at = match.end()
    # What is missing at the end is missing after the last word, not after comments and empty lines.
    end = tokens[-1].end if tokens else len(text)
    return [*tokens, Token(Kind.END, "", end, end)]


def _token(match: re.Match[str], source: Source) -> Token:
    start, end, text = match.start(), match.end(), match.group()
    if match["word"]:
        return Token(Kind.WORD, text, start, end, text.upper())
    if match["symbol"]:
        return Token(Kind.SYMBOL, text, start, end, text)
    if match["quoted"]:
        return Token(Kind.QUOTED, match["name"].replace("``", "`"), start, end)
    if match["number"]:
        return Token(Kind.NUMBER, text, start, end)
    if match["unicode"]:
        return Token(Kind.STRING, _decoded(match["coded"].replace("''", "'"), match["escape"] or "\\"), start, end)
    return _string(match, source)


def _decoded(text: str, escape: str) -> str:
    """A text in which ``\\263A`` and ``\\+01F600`` are characters, and ``\\\\`` is the escape itself."""
    mark = re.escape(escape)
    code = re.compile(rf"{mark}({mark}|[0-9a-fA-F]{{4}}|\+0[0-9a-fA-F]{{5}}|\+10[0-9a-fA-F]{{4}})")
    decoded = code.sub(lambda found: escape if found[1] == escape else chr(int(found[1].lstrip("+"), 16)), text)
    # Two escapes of UTF-16 may be one character.
    return decoded.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _string(match: re.Match[str], source: Source) -> Token:
    prefix, value = (match["prefix"] or "").upper(), match["value"].replace("''", "'")
    if prefix == "X":
        if len(value) % 2 or not re.fullmatch("[0-9a-fA-F]*", value):
            message = "a binary string has two digits of 0-9 and A-F for every byte"
            raise SqlParseError(message, Position(source, match.start(), match.end()))
        return Token(Kind.HEX, value.upper(), match.start(), match.end())
    return Token(Kind.STRING, value, match.start(), match.end())


N = TypeVar("N", bound=nodes.Node)
T = TypeVar("T")

_COMMENT = re.compile(r"--|//|/\*")
_BEGINNINGS = ("SELECT", "INSERT", "CREATE", "DROP", "ALTER", "SHOW", "USE", "DESCRIBE", "EXPLAIN", "EXECUTE", "BEGIN")
"""first words of statements, where no statement goes on with them"""


class Upper(NamedTuple):
    """Rules of queries, which expressions hold and which are made of expressions.

    ``grammar.expressions`` finds them here, so that the modules of the grammar need each other in one direction.
    """

    starts_query: Callable[..., bool]
    """(cursor, tokens ahead, whether brackets may be before it)"""
    continues_query: Callable[[Cursor], bool]
    query: Callable[[Cursor], nodes.Query]
    rest_of_query: Callable[[Cursor, nodes.Query, int], nodes.Query]
    query_in_brackets: Callable[[Cursor], nodes.Subquery]
    table_name: Callable[[Cursor], nodes.Table]


class Cursor:
    """Reads tokens in their order. Words are given in upper case; they match unquoted words and symbols alike."""

    def __init__(self, source: Source, tokens: Sequence[Token], upper: Upper) -> None:
        self.source = source
        self.upper = upper
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
