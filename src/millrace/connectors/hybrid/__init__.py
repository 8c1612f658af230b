"""``HybridSource``: sources read one after the other, as files with the past and then a log with what follows."""

from __future__ import annotations

from millrace.connectors.hybrid.source import HybridSource, HybridSourceBuilder
from millrace.connectors.hybrid.switching import SourceSwitchContext

__all__ = ["HybridSource", "HybridSourceBuilder", "SourceSwitchContext"]
