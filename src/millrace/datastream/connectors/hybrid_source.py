# Written by `make tables` from millrace.pyflink_names: edit that, not this file.
"""``HybridSource`` under PyFlink's names; the code is in ``millrace.connectors.hybrid``."""

from __future__ import annotations

from millrace.connectors.hybrid import HybridSource, HybridSourceBuilder

__all__ = [
    "HybridSource",
    "HybridSourceBuilder",
]
