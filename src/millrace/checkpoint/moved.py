"""Modules of Millrace that have moved: stored state names its classes by where they were when it was written."""

from __future__ import annotations

import io
import pickle
from typing import IO, Any

_MOVED = {
    "checkpoint.pickles": "checkpoint.values.pickles",
    "common.state.handles": "common.state datastream.state",
    "common.watermark_strategy": "common.watermark",
    "common.window.evictors": "common.window.evictor datastream.window.evictor",
    "common.window.windows": "datastream.window.windows",
    "connectors.source_base": "connectors.ranges",
    "runtime.coordination.reading": "runtime.reading",
    "runtime.operators.timestamps": "runtime.operators.split_times",
}
"""module of today -> where the classes that savepoints of 0.1 name lay before (tests/data/savepoints)"""
_MODULES = {f"millrace.{old}": f"millrace.{new}" for new, olds in _MOVED.items() for old in olds.split()}


def present_module(module: str) -> str:
    """The module that holds today what ``module`` held when state was written."""
    return _MODULES.get(module, module)


def load(stream: IO[bytes]) -> Any:
    """The value of the pickle that a stream goes on with, written by this version or an earlier one."""
    return _Unpickler(stream).load()


def loads(pickled: bytes) -> Any:
    """The value of a pickle that this version or an earlier one has written."""
    return _Unpickler(io.BytesIO(pickled)).load()


class _Unpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        return super().find_class(present_module(module), name)
