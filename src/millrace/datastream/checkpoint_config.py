# Written by `make tables` from millrace.pyflink_names: edit that, not this file.
"""``CheckpointConfig``, under PyFlink's path."""

from __future__ import annotations

from millrace.datastream.job_settings import CheckpointConfig

__all__ = [
    "CheckpointConfig",
]
