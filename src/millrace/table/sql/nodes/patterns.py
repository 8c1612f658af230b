"""MATCH_RECOGNIZE and its patterns."""

from __future__ import annotations

from millrace.table.sql.nodes.base import Node
from millrace.table.sql.nodes.clauses import Alias, Order, TableAlias
from millrace.table.sql.nodes.names import Identifier


class AfterMatch(Node):
    """Where the search goes on: ``mode``, and the variable that TO FIRST and TO LAST name."""

    mode: str
    target: Identifier | None = None


class PatternVariable(Node):
    """A variable of the pattern."""

    this: Identifier


class PatternSequence(Node):
    """One after the other."""

    expressions: tuple[Node, ...]


class PatternAlternation(Node):
    """One of these."""

    expressions: tuple[Node, ...]


class PatternPermutation(Node):
    """All of these, in any order."""

    expressions: tuple[Node, ...]


class PatternQuantifier(Node):
    """At least ``low`` and at most ``high`` times."""

    this: Node
    low: int
    high: int | None = None
    reluctant: bool = False
    without_low: bool = False
    """written as ``{,3}``"""


class PatternExclusion(Node):
    """What is matched and not given out."""

    this: Node


class MatchRecognize(Node):
    """A search for patterns in the rows of a relation. ``anchors``: a subset of ``^$``."""

    this: Node
    pattern: Node
    define: tuple[Alias, ...]
    partition_by: tuple[Node, ...] = ()
    order: Order | None = None
    measures: tuple[Alias, ...] = ()
    rows: str = "ONE ROW PER MATCH"
    empty: str = ""
    """after ALL ROWS PER MATCH: SHOW EMPTY MATCHES, OMIT EMPTY MATCHES or WITH UNMATCHED ROWS"""
    after: AfterMatch | None = None
    anchors: str = ""
    within: Node | None = None
    subsets: tuple[Alias, ...] = ()
    alias: TableAlias | None = None
