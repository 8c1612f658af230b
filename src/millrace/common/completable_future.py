"""Futures, under PyFlink's path."""

from millrace.common.jobs import CompletableFuture

__all__ = ["CompletableFuture"]
