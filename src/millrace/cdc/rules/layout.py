"""A table of the sink as the rules make it: columns and key, and what only creating it needs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from millrace.connectors.cdc.events import CreateTableEvent
from millrace.connectors.cdc.schema import TableSchema


@dataclass(frozen=True)
class Layout:
    """Columns with the partition keys and options that a transform gives."""

    schema: TableSchema
    partition_keys: tuple[str, ...] = ()
    options: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class CreateSinkTable(CreateTableEvent):
    """A table of the sink, to be made unless it is there."""

    partition_keys: tuple[str, ...] = ()
    options: Mapping[str, str] = field(default_factory=dict)
