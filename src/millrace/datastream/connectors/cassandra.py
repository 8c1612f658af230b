# Written by `make tables` from millrace.pyflink_names: edit that, not this file.
"""Cassandra under PyFlink's names; the code is in ``millrace.connectors.cassandra``."""

from __future__ import annotations

from millrace.connectors.cassandra.cassandra_streams import (
    CassandraCommitter,
    CassandraFailureHandler,
    CassandraSink,
    ClusterBuilder,
    ConsistencyLevel,
)
from millrace.util.not_yet import lazy_names

__all__ = [
    "CassandraCommitter",
    "CassandraFailureHandler",
    "CassandraSink",
    "ClusterBuilder",
    "ConsistencyLevel",
]

_REFUSED = {
    "MapperOptions": "a query with its own USING TTL (CassandraSinkBuilder.set_query)",
}

__getattr__ = lazy_names(__name__, {}, _REFUSED)
