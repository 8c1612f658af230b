# Written by `make tables` from millrace.pyflink_names: edit that, not this file.
"""OpenSearch, under names as Flink's in Java; the code is in ``millrace.connectors.search``."""

from __future__ import annotations

from millrace.connectors.search.search_builders import (
    Create,
    Delete,
    FlushBackoffType,
    Index,
    OpensearchSink,
    OpensearchSinkBuilder,
    Update,
)
from millrace.connectors.search.search_builders import ElasticsearchEmitter as OpensearchEmitter

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
