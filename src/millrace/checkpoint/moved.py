"""Modules of Millrace that have moved: stored state names its classes by where they were when it was written."""

from __future__ import annotations

import io
import pickle
from typing import IO, Any

_PACKAGES = {
    "millrace.datastream.functions": "millrace.common.functions",
    "millrace.datastream.window": "millrace.common.window",
}
"""package of an earlier version -> where it is now, with all its modules"""

_ROOMS = {
    ("checkpoint", "checkpoint.values"): "pickles pickled_object compatibility",
    ("checkpoint", "checkpoint.savepoints"): "metadata state_file",
    ("common", "common.files"): "checkpoint_files distributed_cache",
    ("common", "common.jobs"): "job_execution_result job_id job_info job_status",
    ("connectors.tables.filesystem", "connectors.file_system"): "compaction",
    ("connectors.tables.filesystem.commits", "connectors.file_system"): "compaction",
    ("connectors.tables.filesystem", "connectors.tables.filesystem.commits"): (
        "committer overwrite partition_time policies triggers"
    ),
    ("connectors.tables.filesystem", "connectors.tables.filesystem.formats"): "avro messages orc parquet",
    ("connectors.tables.filesystem", "connectors.tables.filesystem.layout"): "options partitions",
    ("runtime", "runtime.context"): "accumulators context global_aggregate measures",
    ("runtime", "runtime.coordination"): "chains checkpoints commits reading restart_policies snapshot",
    ("runtime", "runtime.exchange"): "partitioners tagged_hash",
    ("runtime", "runtime.jobs"): "job specs",
    ("runtime", "runtime.protocol"): "epoch packed_splits results",
    ("runtime", "runtime.tasks"): "member watermarks",
    ("runtime.operators", "runtime.windows"): "aligned_window evicting_window session_window window",
    ("runtime.tables", "runtime.tables.aggregates"): "accumulators distinct kept seen_values",
    ("runtime.tables", "runtime.tables.joins"): "join_config join_state lookup_cache temporal_config",
    ("runtime.tables", "runtime.tables.windows"): "sessions window_config",
    ("table", "table.functions"): "function_classes",
    ("table", "table.queries"): "projection",
    ("table", "table.sessions"): "factories session stream_columns",
    ("table", "table.values"): "arrow_types data_types elements literal_types stream_types",
    ("table.queries", "table.sessions"): "stream_columns",
    ("table.sessions", "table"): "environment stream_environment",
}
"""package of an earlier version, package of today -> the modules that went from the one into the other"""

_MODULES = {
    "millrace.common.state": "millrace.common.state.handles",
    "millrace.common.state_store": "millrace.common.state.storage",
    "millrace.common.state_ttl": "millrace.common.state.ttl",
    "millrace.datastream.externalized_checkpoint_retention": "millrace.common.state.storage",
    "millrace.datastream.state_ttl": "millrace.common.state.ttl",
    **{
        f"millrace.{old}.{name}": f"millrace.{new}.{name}"
        for (old, new), names in _ROOMS.items()
        for name in names.split()
    },
}
"""module of an earlier version -> where it is now"""


def present_module(module: str) -> str:
    """The module that holds today what this one held."""
    if module in _MODULES:
        return _MODULES[module]
    for old, new in _PACKAGES.items():
        if module == old or module.startswith(f"{old}."):
            return new + module[len(old) :]
    return module


def load(stream: IO[bytes]) -> Any:
    """The value of the pickle that a stream goes on with, written by this version or an earlier one."""
    return _Unpickler(stream).load()


def loads(pickled: bytes) -> Any:
    """The value of a pickle that this version or an earlier one has written."""
    return _Unpickler(io.BytesIO(pickled)).load()


class _Unpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        return super().find_class(present_module(module), name)
