"""Patterns of tables: ``db.orders_\\.*, shop.[a|b]``."""

from __future__ import annotations

import re
from dataclasses import dataclass

from millrace.cdc.definition.tree import Block
from millrace.connectors.cdc.schema import TableId

_COMMA, _DOT = re.compile(r"(?<!\\),"), re.compile(r"(?<!\\)\.")
_MOST_PARTS = 3


@dataclass(frozen=True)
class Selector:
    """Tables whose names fit, part by part. A dot parts the names; ``\\.`` is the dot of a regular expression.

    A pattern without the database fits tables of any database, of those that have schemas below it.
    """

    patterns: tuple[tuple[str, ...], ...]

    def match(self, table: TableId) -> tuple[str, ...] | None:
        """What the groups of the first pattern that fits have found; None: none fits."""
        for parts in self.patterns:
            names = _names(table, len(parts))
            if names is None:
                continue
            found = [re.fullmatch(part, name, re.IGNORECASE) for part, name in zip(parts, names)]
            if all(found):
                return tuple(group or "" for each in found if each is not None for group in each.groups())
        return None


def _names(table: TableId, count: int) -> tuple[str, ...] | None:
    names = tuple(part for part in (table.namespace, table.schema, table.table) if part)
    if len(names) == count:
        return names
    return names[1:] if len(names) == _MOST_PARTS and count == _MOST_PARTS - 1 else None


def selector(text: str, block: Block, key: str = "source-table") -> Selector:
    """The pattern that a rule gives. :raises PipelineError: it is none."""
    patterns = []
    for each in filter(None, map(str.strip, _COMMA.split(text))):
        parts = tuple(part.replace("\\.", ".").replace("\\,", ",") for part in _DOT.split(each))
        if len(parts) > _MOST_PARTS or not all(parts):
            block.fail(
                f"'{key}': {each} is no name of a table: one to three names with dots; the dot of a regular "
                "expression is \\.",
                key,
            )
        for part in parts:
            try:
                re.compile(part)
            except re.error as error:
                block.fail(
                    f"'{key}': {part} is no regular expression ({error}); a dot parts names, that of a regular "
                    "expression is \\.",
                    key,
                )
        patterns.append(parts)
    return Selector(tuple(patterns))


def table_id(text: str) -> TableId | None:
    """A name of one to three parts. None: it is none."""
    parts = text.strip().split(".")
    if not all(parts) or len(parts) > _MOST_PARTS:
        return None
    return TableId(*[""] * (_MOST_PARTS - len(parts)), *parts)
