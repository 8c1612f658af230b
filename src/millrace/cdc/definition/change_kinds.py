"""``include.schema.changes`` and ``exclude.schema.changes``: which kinds of schema changes a sink is told of."""

from __future__ import annotations

from collections.abc import Iterable

from millrace.cdc.definition.model import Behavior
from millrace.cdc.definition.tree import Block
from millrace.util.similar import did_you_mean

ADD_COLUMN = "add.column"
ALTER_COLUMN_TYPE = "alter.column.type"
CREATE_TABLE = "create.table"
DROP_COLUMN = "drop.column"
DROP_TABLE = "drop.table"
RENAME_COLUMN = "rename.column"
TRUNCATE_TABLE = "truncate.table"
ALL = (ADD_COLUMN, ALTER_COLUMN_TYPE, CREATE_TABLE, DROP_COLUMN, DROP_TABLE, RENAME_COLUMN, TRUNCATE_TABLE)
INCLUDE, EXCLUDE = "include.schema.changes", "exclude.schema.changes"


def accepted_kinds(sink: Block, behavior: Behavior) -> frozenset[str]:
    """What the sink block says, and what ``lenient`` leaves out unless it says something."""
    included = set(ALL) if INCLUDE not in sink.values else _named(sink, INCLUDE)
    if EXCLUDE in sink.values:
        return frozenset(included - _named(sink, EXCLUDE))
    return frozenset(included - {DROP_TABLE, TRUNCATE_TABLE} if behavior is Behavior.LENIENT else included)


def _named(sink: Block, key: str) -> set[str]:
    return {kind for word in sink.texts(key) for kind in _meant(sink, key, word)}


def _meant(sink: Block, key: str, word: str) -> Iterable[str]:
    """The kinds that a word stands for: ``add.column``, or a part of it such as ``drop`` or ``column``."""
    parts = word.lower().removesuffix(".event").split(".")
    found = [kind for kind in ALL if kind.split(".")[: len(parts)] == parts or kind.split(".")[-len(parts) :] == parts]
    if not found and parts != ["all"]:
        sink.fail(f"'{key}' knows no '{word}'{did_you_mean(word, ALL)}; there are {', '.join(ALL)}", key)
    return found or ALL
