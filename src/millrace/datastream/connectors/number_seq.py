"""``NumberSequenceSource`` under PyFlink's name; the code is in ``millrace.connectors.number_seq``."""

from __future__ import annotations

from millrace.connectors.number_seq import NumberSequenceSource

__all__ = ["NumberSequenceSource"]
