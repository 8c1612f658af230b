"""A pipeline as its file describes it."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field

from millrace.cdc.definition.tree import Block


class Behavior(enum.Enum):
    """``schema.change.behavior``: what becomes of a change of a table's columns."""

    EXCEPTION = "exception"
    EVOLVE = "evolve"
    TRY_EVOLVE = "try_evolve"
    LENIENT = "lenient"
    IGNORE = "ignore"


@dataclass(frozen=True)
class End:
    """``source`` or ``sink``: its type, and the options that the type has."""

    type: str
    name: str | None
    options: Mapping[str, str] = field(repr=False)
    block: Block = field(repr=False, compare=False)
    """where it stands, for messages"""


@dataclass(frozen=True)
class Route:
    """Tables that fit a pattern go to a table."""

    source_table: str
    sink_table: str
    replace_symbol: str | None
    description: str | None
    block: Block = field(repr=False, compare=False)


@dataclass(frozen=True)
class Transform:
    """What becomes of the rows of tables that fit a pattern. Names as in the file."""

    source_table: str
    projection: str | None
    filter: str | None
    primary_keys: tuple[str, ...]
    partition_keys: tuple[str, ...]
    table_options: Mapping[str, str]
    soft_delete: bool
    description: str | None
    block: Block = field(repr=False, compare=False)


@dataclass(frozen=True)
class UserFunction:
    """A function in Python under a name for expressions."""

    name: str
    classpath: str
    block: Block = field(repr=False, compare=False)


@dataclass(frozen=True)
class Pipeline:
    """All of a pipeline file."""

    file: str
    source: End
    sink: End
    routes: tuple[Route, ...]
    transforms: tuple[Transform, ...]
    functions: tuple[UserFunction, ...]
    name: str
    parallelism: int
    behavior: Behavior
    accepted: frozenset[str]
    """the kinds of schema changes that reach the sink: ``add.column``, ..."""
    first_route_only: bool
    """whether the first route that fits is the only one"""
    by_table: bool | None
    """whether all rows of a table go to one subtask of the sink; None: as the sink needs it"""
    zone: str | None
    batch: bool
    uid_prefix: str | None
    settings: Mapping[str, str] = field(repr=False)
    """configuration of Flink"""
