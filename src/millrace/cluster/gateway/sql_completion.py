"""Completion of a SQL statement that is being typed: words, tables, columns and options that may come next.

The prompt of the SQL client colours the same words.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from millrace.configuration.cluster_rules import CLUSTER
from millrace.configuration.registry import options, values_of
from millrace.configuration.rule import Effect
from millrace.table import TableEnvironment
from millrace.table.sql.text import CLAUSES, RESERVED, UNITS, Kind, Source, SqlParseError, Token, tokenize
from millrace.util.exceptions import TableException

# Words that the prompt knows

STATEMENTS = (
    *("SELECT", "WITH", "VALUES", "INSERT", "EXECUTE", "BEGIN", "EXPLAIN"),
    *("CREATE", "ALTER", "DROP", "SHOW", "DESCRIBE", "SUMMARIZE", "USE", "LOAD", "UNLOAD"),
    *("SET", "RESET", "STOP", "HELP", "CLEAR", "QUIT", "EXIT"),
)
"""What a statement begins with."""

NEXT = {
    "SHOW": (
        *("TABLES", "VIEWS", "FUNCTIONS", "USER FUNCTIONS", "CATALOGS", "DATABASES", "COLUMNS", "PARTITIONS"),
        *("CURRENT CATALOG", "CURRENT DATABASE", "MODULES", "FULL MODULES", "MODELS", "JOBS", "JARS"),
        *("CREATE TABLE", "CREATE VIEW", "CREATE CATALOG", "CREATE MODEL"),
    ),
    "CREATE": (
        *("TABLE", "TEMPORARY TABLE", "VIEW", "TEMPORARY VIEW", "DATABASE", "CATALOG", "MODEL"),
        *("FUNCTION", "TEMPORARY FUNCTION", "TEMPORARY SYSTEM FUNCTION"),
    ),
    "DROP": (
        *("TABLE", "TEMPORARY TABLE", "VIEW", "TEMPORARY VIEW", "DATABASE", "CATALOG", "MODEL"),
        *("FUNCTION", "TEMPORARY FUNCTION"),
    ),
    "ALTER": ("TABLE", "VIEW", "DATABASE", "FUNCTION", "CATALOG", "MODEL"),
    "INSERT": ("INTO", "OVERWRITE"),
    "EXPLAIN": (
        "PLAN FOR",
        "ESTIMATED_COST",
        "CHANGELOG_MODE",
        "JSON_EXECUTION_PLAN",
        "PLAN_ADVICE",
        "SELECT",
        "INSERT",
    ),
    "EXECUTE": ("STATEMENT SET BEGIN", "INSERT"),
    "BEGIN": ("STATEMENT SET;",),
    "USE": ("CATALOG", "MODULES"),
    "LOAD": ("MODULE",),
    "UNLOAD": ("MODULE",),
    "STOP": ("JOB",),
}
"""What comes after the first word."""

_TYPES = """
    BOOLEAN TINYINT SMALLINT INT INTEGER BIGINT FLOAT DOUBLE DECIMAL NUMERIC CHAR VARCHAR STRING BINARY VARBINARY BYTES
    DATE TIME TIMESTAMP TIMESTAMP_LTZ ARRAY MAP MULTISET ROW RAW INTERVAL VARIANT
"""
TYPES = frozenset(_TYPES.split())

_MORE = """
    WATERMARK ENFORCED METADATA VIRTUAL COMMENT PARTITIONED DISTRIBUTED TEMPORARY SYSTEM FUNCTION LANGUAGE PYTHON
    CATALOG DATABASE DATABASES CATALOGS TABLES VIEW VIEWS FUNCTIONS IF EXISTS INTO OVERWRITE CONSTRAINT KEY TABLE
    STATEMENT JOB
    JOBS SAVEPOINT DRAIN PLAN DESCRIPTOR TUMBLE HOP CUMULATE SESSION PRECEDING FOLLOWING UNBOUNDED CURRENT ROWS RANGE
    ASC DESC NULLS FIRST LAST SYSTEM_TIME OF USE SHOW EXPLAIN ALTER RENAME ADD MODIFY RESET
"""

KEYWORDS = RESERVED | CLAUSES | UNITS | frozenset(_MORE.split()) | frozenset(STATEMENTS)
"""All words of SQL that are not names of the user's."""

OPTIONS = {
    "execution.runtime-mode": ("streaming", "batch"),
    "execution.checkpointing.interval": ("10s",),
    "execution.checkpointing.dir": (),
    "execution.checkpointing.savepoint-dir": (),
    "execution.state-recovery.path": (),
    "parallelism.default": (),
    "pipeline.name": (),
    "pipeline.max-parallelism": (),
    "restart-strategy.type": ("fixed-delay", "exponential-delay", "failure-rate", "none"),
    "sql-client.execution.result-mode": ("tableau", "table", "changelog"),
    "sql-client.execution.max-table-result.rows": (),
    "sql-client.verbose": ("true", "false"),
    "sql-client.display.print-time-cost": ("true", "false"),
    "state.backend.type": ("hashmap", "rocksdb"),
    "table.display.max-column-width": (),
    "table.dml-sync": ("true", "false"),
    "table.exec.source.idle-timeout": (),
    "table.exec.state.ttl": ("1 h", "1 d"),
    "table.local-time-zone": ("UTC",),
    "table.optimizer.agg-phase-strategy": ("AUTO", "TWO_PHASE", "ONE_PHASE"),
    "table.optimizer.distinct-agg.split.enabled": ("true", "false"),
}
"""Keys that are often used with SET -> values that each may have."""


# The statement before the cursor

Path = tuple[str, ...]

_BEGUN = re.compile(r"[\w$]*$")
_BEFORE_SOURCES = frozenset({"FROM", "JOIN", "INTO", "OVERWRITE"})
_NO_ALIAS = RESERVED | {"WHERE", "WINDOW", "LIMIT", "QUALIFY", "PARTITION"}


@dataclass(frozen=True)
class Typed:
    """The statement before the cursor, taken apart."""

    tokens: tuple[Token, ...]
    """the tokens before the word that is being typed"""
    begun: str
    """the first letters of the word that is being typed"""
    quote: str
    """the quote around the word that is being typed: ' or `, or empty"""
    qualifier: Path
    """the qualifying names before the word: ``catalog.database.``"""
    sources: dict[str, Path]
    """the tables that the statement reads or writes, by their alias or name"""

    @property
    def words(self) -> list[str]:
        return [token.word for token in self.tokens]


def typed(before: str, after: str = "") -> Typed:
    """Take apart the statement around the cursor."""
    tokens, opened = _tokens(before)
    if opened is not None:
        quote, begun = before[opened], before[opened + 1 :]
    else:
        quote, begun = "", _BEGUN.search(before).group()  # type: ignore[union-attr]
        if begun and tokens and tokens[-1].end == len(before):
            tokens.pop()
    statement = _after_semicolon(tokens)
    qualifier = _qualifier(statement)
    rest = _up_to_semicolon(_tokens(after)[0])
    return Typed(tuple(statement), begun, quote, qualifier, _sources([*statement, *rest]))


def _tokens(text: str) -> tuple[list[Token], int | None]:
    """The tokens of a text that may end inside a quoted token, and where that token begins."""
    try:
        return tokenize(Source(text))[:-1], None
    except SqlParseError as error:
        start = error.position.start if error.position is not None else len(text)
        return tokenize(Source(text[:start]))[:-1], start if text[start : start + 1] in ("'", "`") else None


def _after_semicolon(tokens: Sequence[Token]) -> list[Token]:
    ends = [place for place, token in enumerate(tokens) if token.word == ";"]
    return list(tokens[ends[-1] + 1 if ends else 0 :])


def _up_to_semicolon(tokens: Sequence[Token]) -> list[Token]:
    ends = [place for place, token in enumerate(tokens) if token.word == ";"]
    return list(tokens[: ends[0]] if ends else tokens)


def _is_name(token: Token) -> bool:
    return token.kind is Kind.QUOTED or (token.kind is Kind.WORD and token.word not in RESERVED)


def _qualifier(tokens: list[Token]) -> Path:
    """The qualifying names before a final dot; removes them from the tokens."""
    names: list[str] = []
    while len(tokens) > 1 and tokens[-1].word == "." and _is_name(tokens[-2]):
        names.insert(0, tokens[-2].text)
        del tokens[-2:]
    return tuple(names)


def _sources(tokens: Sequence[Token]) -> dict[str, Path]:
    found: dict[str, Path] = {}
    place = 0
    while place < len(tokens):
        if tokens[place].word in _BEFORE_SOURCES:
            place = _source(tokens, place + 1, found)
            while place < len(tokens) and tokens[place].word == ",":
                place = _source(tokens, place + 1, found)
        else:
            place += 1
    return found


def _source(tokens: Sequence[Token], place: int, found: dict[str, Path]) -> int:
    """Read a table's path and alias; returns the position after them."""
    path: list[str] = []
    while place < len(tokens) and _is_name(tokens[place]):
        path.append(tokens[place].text)
        place += 1
        if place == len(tokens) or tokens[place].word != ".":
            break
        place += 1
    if not path:
        return place
    if place < len(tokens) and tokens[place].word == "AS":
        place += 1
    if place < len(tokens) and _is_name(tokens[place]) and tokens[place].word not in _NO_ALIAS:
        found[tokens[place].text] = tuple(path)
        return place + 1
    found[path[-1]] = tuple(path)
    return place


# Candidates

_BEFORE_TABLES = frozenset(
    {"FROM", "JOIN", "INTO", "OVERWRITE", "TABLE", "VIEW", "DESCRIBE", "DESC", "EXTENDED", "SUMMARIZE"}
)
_SQL = ("statement", "keyword", "function", "type")
"""Kinds of words that may be written in upper or lower case."""

Word = tuple[str, str]
"""A candidate's text and its kind."""


@dataclass(frozen=True)
class Candidate:
    """A text that takes the place of the last ``length`` characters before the cursor."""

    text: str
    length: int
    kind: str


class Completions:
    """Knows the words of SQL and the objects of an environment."""

    def __init__(self, environment: TableEnvironment) -> None:
        self._environment = environment

    def of(self, before: str, after: str = "") -> list[Candidate]:
        """Candidates at the cursor, each in place of the letters typed so far."""
        place = typed(before, after)
        if place.quote == "'":
            words: Iterable[Word] = self._texts(place)
        else:
            words = self._words(place)
        found = {word: kind for word, kind in words if _fits(word, kind, place)}
        return [Candidate(_written(word, kind, place), len(place.begun), kind) for word, kind in found.items()]

    # -- inside quotes ------------------------------------------------------------------------------------------

    def _texts(self, place: Typed) -> Iterator[Word]:
        words, tokens = place.words, place.tokens
        if words in (["SET"], ["RESET"]):
            set_already = self._environment.get_config().to_map()
            yield from ((key, "option") for key in sorted({*OPTIONS, *_working_keys(), *set_already}))
        elif words[:1] == ["SET"] and words[-1:] == ["="]:
            yield from ((value, "value") for value in _values(tokens[1].text))
        elif "WITH" in words and words[-1] in ("(", ","):
            yield "connector", "option"
        elif "WITH" in words and words[-1] == "=" and tokens[-2].text == "connector":
            yield from ((name, "connector") for name in self._environment._session.connectors.names())

    # -- words and names ----------------------------------------------------------------------------------------

    def _words(self, place: Typed) -> Iterator[Word]:
        words = place.words
        if place.qualifier:
            yield from self._below(place)
        elif not words:
            yield from ((word, "statement") for word in STATEMENTS)
        elif words[-1] == "CATALOG":
            yield from ((name, "catalog") for name in self._environment.list_catalogs())
        elif words == ["USE"]:
            yield from ((name, "database") for name in self._environment.list_databases())
            yield from ((word, "keyword") for word in NEXT["USE"])
        elif len(words) == 1 and words[0] in NEXT:
            yield from ((word, "keyword") for word in NEXT[words[0]])
        elif words[-1] in _BEFORE_TABLES:
            yield from self._tables()
        else:
            yield from self._in_expression(place)

    def _tables(self) -> Iterator[Word]:
        environment = self._environment
        views = set(environment.list_views())
        yield from ((name, "view" if name in views else "table") for name in environment.list_tables())
        yield from ((name, "database") for name in environment.list_databases())
        yield from ((name, "catalog") for name in environment.list_catalogs())

    def _in_expression(self, place: Typed) -> Iterator[Word]:
        for alias, path in place.sources.items():
            yield from ((column, "column") for column in self._columns(path))
            yield alias, "table"
        if place.begun:
            # Without a letter there would be hundreds.
            yield from ((name.upper(), "function") for name in self._environment.list_functions())
            yield from ((word, "keyword") for word in sorted(KEYWORDS))
            yield from ((word, "type") for word in sorted(TYPES))

    def _below(self, place: Typed) -> Iterator[Word]:
        """Candidates after qualifying names: columns of a table, tables of a database, databases of a catalog."""
        path, manager = place.qualifier, self._environment._session.catalogs
        if len(path) == 1 and path[0] in place.sources:
            yield from ((column, "column") for column in self._columns(place.sources[path[0]]))
        if len(path) == 1 and path[0] in self._environment.list_databases():
            yield from ((name, "table") for name in manager.list_tables(manager.current_catalog, path[0]))
        catalog = manager.find_catalog(path[0])
        if catalog is not None and len(path) == 1:
            yield from ((name, "database") for name in catalog.list_databases())
        if catalog is not None and len(path) == 2 and catalog.database_exists(path[1]):
            yield from ((name, "table") for name in manager.list_tables(*path))

    def _columns(self, path: Path) -> list[str]:
        try:
            found = self._environment._session.catalogs.find_table(path)
        except TableException:
            return []
        return [] if found is None else [column.name for column in found.table.get_unresolved_schema().columns]


def _fits(word: str, kind: str, place: Typed) -> bool:
    if place.quote == "`" and kind in _SQL:
        return False
    return word.casefold().startswith(place.begun.casefold()) and word != place.begun


def _written(word: str, kind: str, place: Typed) -> str:
    """A word as it must be typed here: quoted, or in the case that the user types."""
    if place.quote:
        return f"{word.replace(place.quote, place.quote * 2)}{place.quote}"
    if kind in _SQL:
        return word.lower() if place.begun.islower() else word
    plain = re.fullmatch(r"[^\W\d][\w$]*", word) is not None and word.upper() not in KEYWORDS
    return word if plain else f"`{word.replace('`', '``')}`"


def _working_keys() -> Iterator[str]:
    """Configuration keys that have an effect in a session."""
    for option in options().values():
        if option.rule.effect is Effect.WORKS and option.rule.reader != CLUSTER and "<" not in option.key:
            yield option.key


def _values(key: str) -> tuple[str, ...]:
    option = options().get(key)
    return OPTIONS.get(key) or (() if option is None else values_of(option.fact.type))
