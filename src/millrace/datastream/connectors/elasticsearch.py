"""Elasticsearch under PyFlink's names; the code is in ``millrace.connectors.search``."""

from __future__ import annotations

from millrace.connectors.search.actions import Create, Delete, Index, Update
from millrace.connectors.search.builders import (
    Elasticsearch6SinkBuilder,
    Elasticsearch7SinkBuilder,
    Elasticsearch8SinkBuilder,
    ElasticsearchEmitter,
    ElasticsearchSink,
    ElasticsearchSinkBuilderBase,
    FlushBackoffType,
)

__all__ = [
    "FlushBackoffType",
    "ElasticsearchEmitter",
    "ElasticsearchSinkBuilderBase",
    "Elasticsearch6SinkBuilder",
    "Elasticsearch7SinkBuilder",
    "Elasticsearch8SinkBuilder",
    "ElasticsearchSink",
    "Index",
    "Create",
    "Update",
    "Delete",
]
