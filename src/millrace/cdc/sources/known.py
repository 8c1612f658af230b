"""Which source a type means."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NoReturn

from millrace.cdc.definition.model import End, Pipeline
from millrace.cdc.sources.base import PipelineSource
from millrace.cdc.sources.mysql import MySqlPipelineSource
from millrace.cdc.sources.postgres import PostgresPipelineSource
from millrace.cdc.sources.values import ValuesSource
from millrace.util.similar import did_you_mean

_KNOWN: Mapping[str, Callable[[End], PipelineSource]] = {
    "postgres": PostgresPipelineSource,
    "mysql": MySqlPipelineSource,
    "values": ValuesSource,
}
_OTHERS = {"postgresql": "postgres", "mariadb": "mysql", "postgres-cdc": "postgres", "mysql-cdc": "mysql"}
_REFUSED = ("oracle", "sqlserver", "mongodb", "db2", "oceanbase", "tidb", "vitess", "fluss")


def source_of(pipeline: Pipeline) -> PipelineSource:
    """:raises PipelineError: there is no such source, or its options are wrong."""
    make = _KNOWN.get(pipeline.source.type)
    if make is None:
        _unknown(pipeline.source)
    return make(pipeline.source)


def _unknown(end: End) -> NoReturn:
    kind = end.type
    if kind in _REFUSED:
        end.block.fail(
            f"Millrace captures no {kind}; nearest: Debezium's connector for it writes to Kafka, and a job in SQL "
            "reads that by 'connector' = 'kafka' with 'format' = 'debezium-json'",
            "type",
        )
    near = f", did you mean '{_OTHERS[kind]}'?" if kind in _OTHERS else did_you_mean(kind, _KNOWN)
    end.block.fail(f"there is no source of type {kind}{near}; there are {', '.join(_KNOWN)}", "type")
