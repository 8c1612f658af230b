# Written by `make tables` from millrace.pyflink_names: edit that, not this file.
"""Elasticsearch under PyFlink's names; the code is in ``millrace.connectors.search``."""

from __future__ import annotations

from millrace.connectors.search.search_builders import (
    Create,
    Delete,
    Elasticsearch6SinkBuilder,
    Elasticsearch7SinkBuilder,
    Elasticsearch8SinkBuilder,
    ElasticsearchEmitter,
    ElasticsearchSink,
    ElasticsearchSinkBuilderBase,
    FlushBackoffType,
    Index,
    Update,
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
