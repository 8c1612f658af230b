# Written by `make tables` from millrace.pyflink_names: edit that, not this file.
"""The old import path of ``CheckpointFiles``, for programs with a checkpoint storage of their own."""

from __future__ import annotations

from millrace.common.state.storage import SCHEME, CheckpointFiles, own_uri

__all__ = [
    "CheckpointFiles",
    "SCHEME",
    "own_uri",
]
