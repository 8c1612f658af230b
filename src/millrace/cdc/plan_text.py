"""What a pipeline will do, as text for ``--dry-run``. No secret is in it."""

from __future__ import annotations

from collections.abc import Iterator

from millrace.cdc.composer import Composed
from millrace.cdc.definition import change_kinds
from millrace.cdc.definition.model import End, Pipeline
from millrace.util.secrets import mask_options


def plan_text(composed: Composed) -> str:
    """Lines for people."""
    return "\n".join(_lines(composed))


def _lines(composed: Composed) -> Iterator[str]:
    pipeline = composed.pipeline
    yield f"pipeline: {pipeline.name}"
    yield f"  parallelism: {pipeline.parallelism}"
    yield f"  runtime mode: {'BATCH' if pipeline.batch else 'STREAMING'}"
    yield f"  time zone: {composed.surroundings.zone}"
    yield from _settings(pipeline)
    yield from _end("source", pipeline.source)
    for number, each in enumerate(pipeline.transforms, 1):
        yield f"transform {number}: {each.source_table}{_said(each.description)}"
        yield f"  projection: {each.projection or '*'}"
        if each.filter:
            yield f"  filter: {each.filter}"
        for title, names in (("primary keys", each.primary_keys), ("partition keys", each.partition_keys)):
            if names:
                yield f"  {title}: {', '.join(names)}"
        if each.table_options:
            yield f"  table options: {', '.join(f'{name}={text}' for name, text in each.table_options.items())}"
        if each.soft_delete:
            yield "  deletions: kept as rows (SOFT_DELETE)"
    for number, route in enumerate(pipeline.routes, 1):
        symbol = f" ({route.replace_symbol} is the table's name)" if route.replace_symbol else ""
        yield f"route {number}: {route.source_table} -> {route.sink_table}{symbol}{_said(route.description)}"
    for function in composed.surroundings.functions.values():
        yield f"function: {function.name} returns {function.result}"
    left_out = [kind for kind in change_kinds.ALL if kind not in pipeline.accepted]
    yield f"schema changes: {pipeline.behavior.value}{', without ' + ', '.join(left_out) if left_out else ''}"
    yield from _end("sink", pipeline.sink)


def _settings(pipeline: Pipeline) -> Iterator[str]:
    for name, text in mask_options(pipeline.settings).items():
        yield f"  {name}: {text}"


def _end(title: str, end: End) -> Iterator[str]:
    yield f"{title}: {end.type}{_said(end.name)}"
    for name, text in mask_options(end.options).items():
        yield f"  {name}: {text}"


def _said(text: str | None) -> str:
    return f" ({text})" if text else ""
