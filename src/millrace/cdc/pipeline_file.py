"""Parses and checks a pipeline file, as far as that is possible without its source and sink.

``include.schema.changes`` and ``exclude.schema.changes`` select the kinds of schema changes that a sink gets.
``EndOptions`` reads the options of a source or a sink: an unknown or wrong one is an error with its line.
"""

from __future__ import annotations

import enum
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import NoReturn, TypeVar

from millrace.cdc.yaml_tree import Block, PipelineError, read_tree
from millrace.common.configuration import to_boolean, to_bytes_count, to_duration
from millrace.relational.sources import whole_number
from millrace.relational.time_zones import standard_name
from millrace.util.names import did_you_mean
from millrace.util.secrets import mask


class Behavior(enum.Enum):
    """``schema.change.behavior``: how a schema change of a source table is applied to the sink."""

    EXCEPTION = "exception"
    EVOLVE = "evolve"
    TRY_EVOLVE = "try_evolve"
    LENIENT = "lenient"
    IGNORE = "ignore"


@dataclass(frozen=True)
class End:
    """The block ``source`` or ``sink``: its type and options."""

    type: str
    name: str | None
    options: Mapping[str, str] = field(repr=False)
    block: Block = field(repr=False, compare=False)
    """the YAML block, whose lines error messages name"""


@dataclass(frozen=True)
class Route:
    """A routing rule: tables that match a pattern go to a sink table."""

    source_table: str
    sink_table: str
    replace_symbol: str | None
    description: str | None
    block: Block = field(repr=False, compare=False)


@dataclass(frozen=True)
class Transform:
    """A rule of ``transform``: projection, filter and keys for tables that match a pattern. Fields are named as in the
    file."""

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
    """A Python function, with its name in expressions."""

    name: str
    classpath: str
    block: Block = field(repr=False, compare=False)


@dataclass(frozen=True)
class Pipeline:
    """The whole content of a pipeline file."""

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
    """kinds of schema changes that reach the sink: ``add.column``, ..."""
    first_route_only: bool
    """whether only the first matching route applies"""
    by_table: bool | None
    """whether all rows of a table go to one subtask of the sink; None: the sink decides"""
    zone: str | None
    batch: bool
    uid_prefix: str | None
    settings: Mapping[str, str] = field(repr=False)
    """options of Flink's configuration"""


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
    """The kinds of schema changes that the sink's block selects; ``lenient`` has defaults of its own."""
    included = set(ALL) if INCLUDE not in sink.values else _named(sink, INCLUDE)
    if EXCLUDE in sink.values:
        return frozenset(included - _named(sink, EXCLUDE))
    return frozenset(included - {DROP_TABLE, TRUNCATE_TABLE} if behavior is Behavior.LENIENT else included)


def _named(sink: Block, key: str) -> set[str]:
    return {kind for word in sink.texts(key) for kind in _meant(sink, key, word)}


def _meant(sink: Block, key: str, word: str) -> Iterable[str]:
    """The kinds that a word selects: ``add.column``, or a part of it such as ``drop`` or ``column``."""
    parts = word.lower().removesuffix(".event").split(".")
    found = [kind for kind in ALL if kind.split(".")[: len(parts)] == parts or kind.split(".")[-len(parts) :] == parts]
    if not found and parts != ["all"]:
        sink.fail(f"'{key}' knows no '{word}'{did_you_mean(word, ALL)}; there are {', '.join(ALL)}", key)
    return found or ALL


T = TypeVar("T")


class EndOptions:
    """Reads the options of a source or a sink.

    :param prefixes: prefixes of options whose remaining name is up to the user.
    """

    def __init__(self, end: End, known: Iterable[str], prefixes: Iterable[str] = ()) -> None:
        self.end = end
        self._options = end.options
        names, beginnings = tuple(known), tuple(prefixes)
        for name in self._options:
            if name not in names and not any(name.startswith(each) for each in beginnings):
                there = ", ".join((*names, *(f"{each}*" for each in beginnings))) or "none"
                self.fail(name, f"{self.title} has no option '{name}'{did_you_mean(name, names)}; there are: {there}")

    @property
    def title(self) -> str:
        return f"{self.end.block.title} of type {self.end.type}"

    def fail(self, name: str, message: str) -> NoReturn:
        self.end.block.fail(message, next((key for key in _fronts(name) if key in self.end.block.values), None))

    def text(self, name: str, default: str | None = None) -> str | None:
        return self._options.get(name, default)

    def needed(self, name: str) -> str:
        found = self._options.get(name)
        if not found:
            self.fail(name, f"{self.title} needs '{name}'")
        return found

    def number(self, name: str, default: int) -> int:
        found = self._read(name, lambda text: whole_number(name, text), default)
        if found < 0:
            self.fail(name, f"'{name}' is not negative")
        return found

    def size(self, name: str, default: int) -> int:
        """An option as a size in bytes."""
        return self._read(name, to_bytes_count, default)

    def flag(self, name: str, default: bool = False) -> bool:
        return self._read(name, to_boolean, default)

    def seconds(self, name: str, default: float) -> float:
        """An option as a duration in seconds."""
        return self._read(name, lambda text: to_duration(text).to_millis() / 1000, default)

    def one_of(self, name: str, default: str, known: Iterable[str]) -> str:
        found, names = self._options.get(name, default).lower(), tuple(known)
        if found not in names:
            self.fail(name, f"'{name}' is one of {', '.join(names)}, not {found}")
        return found

    def below(self, prefix: str) -> dict[str, str]:
        """The options with a prefix, without the prefix."""
        return {name[len(prefix) :]: text for name, text in self._options.items() if name.startswith(prefix)}

    def _read(self, name: str, read: Callable[[str], T], default: T) -> T:
        text = self._options.get(name)
        if text is None:
            return default
        try:
            return read(text)
        except (ValueError, TypeError) as error:
            self.fail(name, f"'{name}': {mask(name, text)} cannot be read: {error}")


def _fronts(name: str) -> Iterable[str]:
    """The names under which a nested option may appear in the file: ``a.b.c``, ``a.b``, ``a``."""
    while name:
        yield name
        name = name.rpartition(".")[0]


DEFAULT_NAME = "Flink CDC Pipeline Job"
_TOP = ("source", "sink", "route", "transform", "pipeline")
_ROUTE = ("source-table", "sink-table", "replace-symbol", "description")
_TRANSFORM = (
    *("source-table", "projection", "filter", "primary-keys", "partition-keys", "table-options"),
    *("table-options.delimiter", "converter-after-transform", "description"),
)
_PIPELINE = (
    *("name", "parallelism", "schema.change.behavior", "local-time-zone", "execution.runtime-mode", "route-mode"),
    *("sink.partitioning.strategy", "operator.uid.prefix", "user-defined-function", "flink-conf"),
)
_REFUSED: Mapping[str, str] = {
    "model": "Millrace calls no AI models in pipelines; nearest: a Python function under 'user-defined-function' "
    "that asks the model",
    "schema.operator.uid": "it is 'operator.uid.prefix' now",
    "schema-operator.rpc-timeout": "there is nothing to wait for: schema changes reach the sink in the stream",
    "transform.expression.semantics": "expressions always mean what they mean in Flink SQL",
}


def read_pipeline(path: str) -> Pipeline:
    """The pipeline that a file describes.

    :raises PipelineError: it cannot be read, or says what cannot be.
    """
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read()
    except (OSError, UnicodeDecodeError) as error:
        raise PipelineError(f"cannot be read: {error}", path) from None
    return parse_pipeline(text, os.path.basename(path))


def parse_pipeline(text: str, file: str = "pipeline") -> Pipeline:
    """The pipeline that a text describes. :raises PipelineError: it says what cannot be."""
    top = read_tree(text, file)
    top.only(_TOP)
    source, sink = _needed(top, "source"), _needed(top, "sink")
    pipeline = top.block("pipeline") or Block("'pipeline'", {}, {}, file, top.line)
    for key, reason in _REFUSED.items():
        if key in pipeline.values:
            pipeline.fail(f"'{key}': {reason}", key)
    pipeline.only(_PIPELINE)
    behavior = _one_of(pipeline, "schema.change.behavior", {each.value: each for each in Behavior}, Behavior.LENIENT)
    own = pipeline.block("flink-conf")
    return Pipeline(
        file=file,
        source=_end(source),
        sink=_end(sink, (INCLUDE, EXCLUDE)),
        routes=tuple(_route(each) for each in top.blocks("route")),
        transforms=tuple(_transform(each) for each in top.blocks("transform")),
        functions=tuple(_function(each) for each in pipeline.blocks("user-defined-function")),
        name=pipeline.text("name") or DEFAULT_NAME,
        parallelism=_count(pipeline, "parallelism", 1),
        behavior=behavior,
        accepted=accepted_kinds(sink, behavior),
        first_route_only=_one_of(pipeline, "route-mode", {"all_match": False, "first_match": True}, False),
        by_table=_one_of(
            pipeline,
            "sink.partitioning.strategy",
            {"sink_defined": None, "primary_key": False, "table_id": True},
            None,
        ),
        zone=_zone(pipeline),
        batch=_one_of(pipeline, "execution.runtime-mode", {"streaming": False, "batch": True}, False),
        uid_prefix=pipeline.text("operator.uid.prefix"),
        settings=own.flat() if own is not None else {},
    )


def _needed(top: Block, key: str) -> Block:
    found = top.block(key)
    if found is None:
        top.fail(f"a pipeline needs '{key}'")
    return found


def _end(block: Block, without: tuple[str, ...] = ()) -> End:
    kind = block.needed("type")
    if block.title == "'source'":
        # Events of the values source are a list, which it reads itself.
        without = (*without, "events")
    return End(kind.lower(), block.text("name"), block.flat(("type", "name", *without)), block)


def _route(block: Block) -> Route:
    block.only(_ROUTE)
    symbol = block.text("replace-symbol")
    sink = block.needed("sink-table")
    if symbol and symbol not in sink:
        block.fail(f"'replace-symbol' is {symbol}, which 'sink-table' ({sink}) does not have", "replace-symbol")
    return Route(block.needed("source-table"), sink, symbol, block.text("description"), block)


def _transform(block: Block) -> Transform:
    block.only(_TRANSFORM)
    converter = block.text("converter-after-transform")
    if converter is not None and converter.upper() != "SOFT_DELETE":
        block.fail(
            f"'converter-after-transform' is SOFT_DELETE or left out, not {converter}", "converter-after-transform"
        )
    return Transform(
        block.needed("source-table"),
        _given(block, "projection"),
        _given(block, "filter"),
        block.texts("primary-keys"),
        block.texts("partition-keys"),
        _table_options(block),
        converter is not None,
        block.text("description"),
        block,
    )


def _given(block: Block, key: str) -> str | None:
    """A SQL expression. A leading star may be escaped by a backslash, since YAML requires that."""
    found = block.text(key)
    return found.replace("\\*", "*") if found is not None and found.strip() else None


def _table_options(block: Block) -> Mapping[str, str]:
    text, found = block.text("table-options") or "", {}
    for pair in filter(str.strip, text.split(block.text("table-options.delimiter") or ",")):
        name, equals, value = pair.partition("=")
        if not equals or not name.strip():
            block.fail(f"'table-options' is name=value, name=value, and this has '{pair.strip()}'", "table-options")
        found[name.strip()] = value.strip()
    return found


def _function(block: Block) -> UserFunction:
    block.only(("name", "classpath", "options"))
    if "options" in block.values:
        block.fail("options of a function: give them to the function in Python", "options")
    return UserFunction(block.needed("name"), block.needed("classpath"), block)


def _count(block: Block, key: str, default: int) -> int:
    text = block.text(key)
    if text is None:
        return default
    if not text.isdecimal() or int(text) < 1:
        block.fail(f"'{key}' is a number from 1 on, not {text}", key)
    return int(text)


def _one_of(block: Block, key: str, known: Mapping[str, T], default: T) -> T:
    text = block.text(key)
    if text is None:
        return default
    if text.lower() not in known:
        block.fail(f"'{key}' is one of {', '.join(known)}, not {text}", key)
    return known[text.lower()]


def _zone(block: Block) -> str | None:
    zone = block.text("local-time-zone")
    if zone is None or zone == "systemDefault":
        return None
    try:
        return standard_name(zone)
    except ValueError as error:
        block.fail(f"'local-time-zone': {error}", "local-time-zone")
