# Written by `make tables` from millrace.pyflink_names: edit that, not this file.
"""``NumberSequenceSource`` under PyFlink's name; the code is in ``millrace.connectors.generated_sources``."""

from __future__ import annotations

from millrace.connectors.generated_sources import NumberSequenceSource

__all__ = [
    "NumberSequenceSource",
]
