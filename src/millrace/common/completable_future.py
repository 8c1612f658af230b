# Written by `make tables` from millrace.pyflink_names: edit that, not this file.
"""Futures, under PyFlink's path."""

from __future__ import annotations

from millrace.common.jobs import CompletableFuture

__all__ = [
    "CompletableFuture",
]
