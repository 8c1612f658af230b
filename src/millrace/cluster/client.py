"""``JobClient`` over REST."""

from __future__ import annotations

from millrace.cluster.remote.rest_client import RemoteJobFailedError, RestJobClient

__all__ = ["RemoteJobFailedError", "RestJobClient"]
