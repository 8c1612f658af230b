"""What may come next in a statement that is being typed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from millrace.cluster.sql.typed import Path, Typed, typed
from millrace.cluster.sql.words import KEYWORDS, NEXT, OPTIONS, STATEMENTS, TYPES
from millrace.configuration.declared.rule import Effect
from millrace.configuration.declared.value_types import values_of
from millrace.configuration.registry import options
from millrace.configuration.rules.control import CLUSTER
from millrace.table import TableEnvironment
from millrace.util.exceptions import TableException

_BEFORE_TABLES = frozenset(
    {"FROM", "JOIN", "INTO", "OVERWRITE", "TABLE", "VIEW", "DESCRIBE", "DESC", "EXTENDED", "SUMMARIZE"}
)
_SQL = ("statement", "keyword", "function", "type")
"""Kinds of what may be written in capitals or not."""

Word = tuple[str, str]
"""a text and its kind"""


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
        """What may stand at the cursor, in place of the word that has been begun."""
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
        """What may stand behind names and dots: columns of a table, tables of a database, databases of a catalog."""
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
    """A word as it has to be typed here."""
    if place.quote:
        return f"{word.replace(place.quote, place.quote * 2)}{place.quote}"
    if kind in _SQL:
        return word.lower() if place.begun.islower() else word
    plain = re.fullmatch(r"[^\W\d][\w$]*", word) is not None and word.upper() not in KEYWORDS
    return word if plain else f"`{word.replace('`', '``')}`"


def _working_keys() -> Iterator[str]:
    """Configuration keys that a session can do something with."""
    for option in options().values():
        if option.rule.effect is Effect.WORKS and option.rule.reader != CLUSTER and "<" not in option.key:
            yield option.key


def _values(key: str) -> tuple[str, ...]:
    option = options().get(key)
    return OPTIONS.get(key) or (() if option is None else values_of(option.fact.type))
