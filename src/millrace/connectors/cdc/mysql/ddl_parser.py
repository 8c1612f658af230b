"""``parse_ddl``: statements of the log that change tables, as what they do to tables and their columns.

It knows as much of the grammar of MySQL and MariaDB as has to do with columns; all other statements give nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

__all__ = [
    "Added",
    "Altered",
    "Changed",
    "Created",
    "Ddl",
    "Dropped",
    "DroppedDatabase",
    "Removed",
    "Renamed",
    "Truncated",
    "parse_ddl",
]


_TOKENS = re.compile(
    r"""
    (?P<space>\s+|/\*(?!M?!).*?\*/|(?:--\s|\#)[^\n]*)
    | (?P<hint>/\*M?!\d*|\*/)
    | (?P<name>`(?:[^`]|``)*`)
    | (?P<text>'(?:[^'\\]|''|\\.)*'|"(?:[^"\\]|""|\\.)*")
    | (?P<word>[\w$@]+)
    | (?P<other>.)
    """,
    re.VERBOSE | re.DOTALL,
)
_KEYS = ("KEY", "INDEX", "UNIQUE", "FULLTEXT", "SPATIAL", "PRIMARY", "CONSTRAINT", "FOREIGN", "CHECK", "PARTITION")
_SYNONYMS = {
    "integer": "int", "int1": "tinyint", "int2": "smallint", "int3": "mediumint", "int4": "int", "int8": "bigint",
    "middleint": "mediumint", "dec": "decimal", "numeric": "decimal", "fixed": "decimal", "number": "decimal",
    "real": "double", "float4": "float", "float8": "double", "character": "char", "nchar": "char",
    "nvarchar": "varchar", "varchar2": "varchar", "varcharacter": "varchar", "clob": "longtext", "raw": "varbinary",
    "bool": "tinyint(1)", "boolean": "tinyint(1)", "serial": "bigint(20) unsigned", "long": "mediumtext",
}  # fmt: skip


@dataclass(frozen=True)
class Added:
    """A column with its type in the words of ``information_schema``. :ivar after: a column, "" for the first place."""

    name: str
    native: str
    nullable: bool
    after: str | None = None


@dataclass(frozen=True)
class Removed:
    name: str


@dataclass(frozen=True)
class Changed:
    """A column with another name, type or place; ``native`` None: only the name."""

    old: str
    name: str
    native: str | None
    nullable: bool = True
    after: str | None = None


@dataclass(frozen=True)
class Ddl:
    """Something that was done to a table. :ivar database: None: that of the session."""

    database: str | None
    table: str


@dataclass(frozen=True)
class Altered(Ddl):
    """:ivar changes: of its columns, in order.
    :ivar unclear: there may be others, which only the server knows."""

    changes: tuple[Added | Removed | Changed, ...] = ()
    unclear: bool = False


@dataclass(frozen=True)
class Renamed(Ddl):
    new_database: str | None = None
    new_table: str = ""


@dataclass(frozen=True)
class Created(Ddl):
    pass


@dataclass(frozen=True)
class Dropped(Ddl):
    pass


@dataclass(frozen=True)
class Truncated(Ddl):
    pass


@dataclass(frozen=True)
class DroppedDatabase(Ddl):
    """DROP DATABASE: all tables of the database are dropped; ``table`` is empty."""


def parse_ddl(text: str) -> list[Ddl]:
    """What a statement does to tables; nothing if it does nothing to columns or tables."""
    words = _Words(list(_tokens(text)))
    if words.take("ALTER"):
        while words.take("ONLINE") or words.take("IGNORE"):
            pass
        return _alter(words) if words.take("TABLE") else []
    if words.take("RENAME"):
        return list(_rename(words)) if words.take("TABLE") or words.take("TABLES") else []
    if words.take("TRUNCATE"):
        words.take("TABLE")
        return [Truncated(*words.table())]
    if words.take("DROP"):
        return list(_drop(words))
    if words.take("CREATE"):
        return _create(words)
    return []


def _tokens(text: str) -> Iterator[str]:
    for match in _TOKENS.finditer(text):
        if match.lastgroup not in ("space", "hint"):
            yield match.group()


@dataclass
class _Words:
    """The rest of a statement."""

    tokens: Sequence[str]
    at: int = 0

    def take(self, *words: str) -> bool:
        """Go past words, if they come next."""
        if [each.upper() for each in self.tokens[self.at : self.at + len(words)]] != list(words):
            return False
        self.at += len(words)
        return True

    def next(self) -> str:
        """:raises ValueError: the statement is over."""
        if self.at >= len(self.tokens):
            raise ValueError("the statement ends too early")
        self.at += 1
        return self.tokens[self.at - 1]

    @property
    def more(self) -> bool:
        return self.at < len(self.tokens)

    def name(self) -> str:
        word = self.next()
        if word[0] in "`\"'":
            return word[1:-1].replace(word[0] * 2, word[0])
        return word

    def table(self) -> tuple[str | None, str]:
        first = self.name()
        if self.take("."):
            return first, self.name()
        return None, first

    def inside(self) -> list[str]:
        """What is in the parentheses that come next."""
        found, depth = [], 1
        self.next()
        while depth:
            word = self.next()
            depth += (word == "(") - (word == ")")
            if depth:
                found.append(word)
        return found


def _split(tokens: Sequence[str]) -> list[list[str]]:
    """Parts with commas between them, but for those in parentheses."""
    parts: list[list[str]] = [[]]
    depth = 0
    for token in tokens:
        depth += (token == "(") - (token == ")")
        if token == "," and not depth:
            parts.append([])
        else:
            parts[-1].append(token)
    return parts


def _alter(words: _Words) -> list[Ddl]:
    words.take("IF", "EXISTS")
    database, table = words.table()
    if words.take("WAIT"):
        words.next()
    words.take("NOWAIT")
    changes: list[Added | Removed | Changed] = []
    others: list[Ddl] = []
    unclear = False
    for part in _split(words.tokens[words.at :]):
        clause = _Words(part)
        try:
            renamed = _clause(clause, changes)
        except ValueError:
            unclear = True
            continue
        if renamed is not None:
            others.append(Renamed(database, table, *renamed))
    return [*([Altered(database, table, tuple(changes), unclear)] if changes or unclear else []), *others]


def _clause(words: _Words, changes: list[Added | Removed | Changed]) -> tuple[str | None, str] | None:
    """A part of ALTER TABLE. :returns: the new name of the table, if it has one."""
    if words.take("ADD"):
        explicit = words.take("COLUMN")
        words.take("IF", "NOT", "EXISTS")
        if words.more and words.tokens[words.at] == "(":
            changes += [_added(_Words(part)) for part in _split(words.inside()) if part[0].upper() not in _KEYS]
        elif explicit or words.tokens[words.at].upper() not in (*_KEYS, "SYSTEM", "PERIOD"):
            changes.append(_added(words))
    elif words.take("DROP"):
        explicit = words.take("COLUMN")
        words.take("IF", "EXISTS")
        if explicit or words.tokens[words.at].upper() not in (*_KEYS, "SYSTEM", "PERIOD"):
            changes.append(Removed(words.name()))
    elif words.take("CHANGE"):
        words.take("COLUMN")
        words.take("IF", "EXISTS")
        old = words.name()
        new = _added(words)
        changes.append(Changed(old, new.name, new.native, new.nullable, new.after))
    elif words.take("MODIFY"):
        words.take("COLUMN")
        words.take("IF", "EXISTS")
        new = _added(words)
        changes.append(Changed(new.name, new.name, new.native, new.nullable, new.after))
    elif words.take("RENAME"):
        if words.take("COLUMN"):
            words.take("IF", "EXISTS")
            old = words.name()
            words.take("TO")
            changes.append(Changed(old, words.name(), None))
        elif not (words.take("INDEX") or words.take("KEY")):
            words.take("TO") or words.take("AS") or words.take("=")
            return words.table()
    elif words.take("CONVERT"):
        raise ValueError("types of texts may change with their character set")
    return None


def _added(words: _Words) -> Added:
    name = words.name()
    native = _native(words)
    rest = words.tokens[words.at :]
    upper = [each.upper() for each in rest]
    nullable = "NULL" not in upper or upper[upper.index("NULL") - 1] != "NOT"
    if "PRIMARY" in upper:
        nullable = False
    after = None
    if upper[-1:] == ["FIRST"]:
        after = ""
    elif upper[-2:-1] == ["AFTER"]:
        after = _Words(rest[-1:]).name()
    return Added(name, native, nullable, after)


def _native(words: _Words) -> str:
    """A type in the words that a server has for it."""
    words.take("NATIONAL")
    found = words.next().lower()
    if found == "double":
        words.take("PRECISION")
    elif found in ("char", "character") and (words.take("VARYING") or words.take("LARGE", "OBJECT")):
        found = "varchar"
    found = _SYNONYMS.get(found, found)
    if words.more and words.tokens[words.at] == "(":
        found = f"{found.partition('(')[0]}({','.join(each for each in words.inside() if each != ',')})"
    while words.more:
        if words.take("UNSIGNED") or words.take("ZEROFILL"):
            found = found if found.endswith("unsigned") else f"{found} unsigned"
        elif not words.take("SIGNED"):
            break
    return found


def _rename(words: _Words) -> Iterator[Ddl]:
    words.take("IF", "EXISTS")
    while words.more:
        old = words.table()
        while words.more and not words.take("TO"):
            words.next()  # MariaDB: WAIT n, NOWAIT
        yield Renamed(*old, *words.table())
        if not words.take(","):
            return


def _drop(words: _Words) -> Iterator[Ddl]:
    if words.take("DATABASE") or words.take("SCHEMA"):
        words.take("IF", "EXISTS")
        yield DroppedDatabase(words.name(), "")
        return
    if words.take("TEMPORARY") or not (words.take("TABLE") or words.take("TABLES")):
        return
    words.take("IF", "EXISTS")
    while words.more:
        yield Dropped(*words.table())
        if not words.take(","):
            return


def _create(words: _Words) -> list[Ddl]:
    words.take("OR", "REPLACE")
    if words.take("TEMPORARY") or not words.take("TABLE"):
        return []
    words.take("IF", "NOT", "EXISTS")
    return [Created(*words.table())]
