"""``HybridSource`` under PyFlink's name; the code is in ``millrace.connectors.hybrid``."""

from __future__ import annotations

from millrace.connectors.hybrid import HybridSource, HybridSourceBuilder

__all__ = ["HybridSource", "HybridSourceBuilder"]
