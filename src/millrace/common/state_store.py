# Written by `make tables` from millrace.pyflink_names: edit that, not this file.
"""The old import path of ``KeyValueStore``, for programs with a state backend of their own."""

from __future__ import annotations

from millrace.common.state.storage import KeyValueStore, StorePlace

__all__ = [
    "KeyValueStore",
    "StorePlace",
]
