"""Cassandra under PyFlink's names; the code is in ``millrace.connectors.cassandra``."""

from __future__ import annotations

from millrace.connectors.cassandra.cassandra_streams import (
    CassandraCommitter,
    CassandraFailureHandler,
    CassandraSink,
    ClusterBuilder,
    ConsistencyLevel,
)
from millrace.datastream.not_yet import module_getattr

__all__ = [
    "CassandraCommitter",
    "CassandraFailureHandler",
    "CassandraSink",
    "ClusterBuilder",
    "ConsistencyLevel",
]

__getattr__ = module_getattr(__name__)
