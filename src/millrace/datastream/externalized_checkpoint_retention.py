# Written by `make tables` from millrace.pyflink_names: edit that, not this file.
"""``ExternalizedCheckpointRetention``, under PyFlink's path."""

from __future__ import annotations

from millrace.common.state.storage import ExternalizedCheckpointRetention

__all__ = [
    "ExternalizedCheckpointRetention",
]
