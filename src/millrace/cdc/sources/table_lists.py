"""``tables`` and ``tables.exclude`` of a source: which tables of a database are captured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from millrace.cdc.definition.end_options import EndOptions
from millrace.cdc.rules.selectors import selector


def table_list(options: EndOptions, name: str, text: str, parts: int) -> list[tuple[str, ...]]:
    """Patterns, part by part, as regular expressions. :raises PipelineError: one has another number of parts."""
    found = list(selector(text, options.end.block, name).patterns) if text.strip() else []
    for each in found:
        if len(each) != parts:
            form = "database.schema.table" if parts == 3 else "database.table"
            options.fail(name, f"'{name}': {'.'.join(each)} is not {form}; the dot of a regular expression is \\.")
    return found


@dataclass(frozen=True)
class TableList:
    """Regular expressions: of schemas (or databases), and of ``schema.table``. A whole name has to fit."""

    schemas: tuple[str, ...]
    tables: tuple[str, ...]

    @staticmethod
    def of(included: Sequence[tuple[str, ...]], excluded: Sequence[tuple[str, ...]]) -> TableList:
        """:param included: schema and table of each pattern."""
        but = "".join(f"(?!(?:{_whole(each)})$)" for each in excluded)
        return TableList(
            tuple(dict.fromkeys(f"(?:{schema})" for schema, _ in included)),
            tuple(f"{but}{_whole(each)}" for each in included),
        )


def _whole(parts: tuple[str, ...]) -> str:
    return r"\.".join(f"(?:{part})" for part in parts)
