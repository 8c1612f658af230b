"""A pipeline file, read and checked as far as the file alone goes."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TypeVar

from millrace.cdc.definition.change_kinds import EXCLUDE, INCLUDE, accepted_kinds
from millrace.cdc.definition.model import Behavior, End, Pipeline, Route, Transform, UserFunction
from millrace.cdc.definition.problems import PipelineError
from millrace.cdc.definition.tree import Block, read_tree
from millrace.relational.zones import standard_name

T = TypeVar("T")

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
    """A text of SQL; a star at its beginning may have a backslash, since YAML wants one."""
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
