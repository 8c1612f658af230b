"""OpenSearch, under names as Flink's in Java; the code is in ``millrace.connectors.search``."""

from __future__ import annotations

from millrace.connectors.search.actions import Create, Delete, Index, Update
from millrace.connectors.search.builders import ElasticsearchEmitter as OpensearchEmitter
from millrace.connectors.search.builders import FlushBackoffType, OpensearchSink, OpensearchSinkBuilder

__all__ = [
    "FlushBackoffType",
    "OpensearchEmitter",
    "OpensearchSink",
    "OpensearchSinkBuilder",
    "Index",
    "Create",
    "Update",
    "Delete",
]
