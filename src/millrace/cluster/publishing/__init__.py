"""From the jobs of this process to their documents, and the contract to steer them."""

from __future__ import annotations

from millrace.cluster.publishing.control import LocalControl
from millrace.cluster.publishing.registry import published_jobs

__all__ = ["LocalControl", "published_jobs"]
