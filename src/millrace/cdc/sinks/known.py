"""Which sink a type means."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NoReturn

from millrace.cdc.definition.model import Pipeline
from millrace.cdc.sinks.base import PipelineSink
from millrace.cdc.sinks.databases import DatabasePipelineSink
from millrace.cdc.sinks.files import FilesPipelineSink
from millrace.cdc.sinks.kafka import KafkaPipelineSink
from millrace.cdc.sinks.printing import PrintingSink
from millrace.util.similar import did_you_mean

_KNOWN: Mapping[str, Callable[[Pipeline], PipelineSink]] = {
    "kafka": KafkaPipelineSink,
    "postgres": DatabasePipelineSink,
    "mysql": DatabasePipelineSink,
    "jdbc": DatabasePipelineSink,
    "filesystem": FilesPipelineSink,
    "values": lambda pipeline: PrintingSink(pipeline.sink),
    "print": lambda pipeline: PrintingSink(pipeline.sink),
}
_OTHERS = {"postgresql": "postgres", "mariadb": "mysql", "files": "filesystem", "file": "filesystem"}
_LAKES = "nearest: 'filesystem' with 'format: parquet', or 'kafka' and the connector of the lake behind it"
_STORES = "nearest: 'kafka' with 'debezium-json', which the store loads by itself"
_REFUSED: Mapping[str, str] = {
    **dict.fromkeys(("paimon", "iceberg", "hudi", "fluss"), _LAKES),
    **dict.fromkeys(("doris", "starrocks", "maxcompute", "oceanbase", "dws"), _STORES),
    "elasticsearch": "nearest: 'kafka', and a job in SQL from there to 'opensearch' or 'elasticsearch-7'",
}


def sink_of(pipeline: Pipeline) -> PipelineSink:
    """:raises PipelineError: there is no such sink, or its options are wrong."""
    make = _KNOWN.get(pipeline.sink.type)
    if make is None:
        _unknown(pipeline)
    return make(pipeline)


def _unknown(pipeline: Pipeline) -> NoReturn:
    kind, block = pipeline.sink.type, pipeline.sink.block
    if kind in _REFUSED:
        block.fail(f"Millrace writes no sink of type {kind}; {_REFUSED[kind]}", "type")
    near = f", did you mean '{_OTHERS[kind]}'?" if kind in _OTHERS else did_you_mean(kind, _KNOWN)
    block.fail(f"there is no sink of type {kind}{near}; there are {', '.join(_KNOWN)}", "type")
