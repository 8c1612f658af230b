"""Under PyFlink's path: see ``millrace.table.descriptions.descriptors``."""

from __future__ import annotations

from millrace.table.descriptions.descriptors import Descriptor, Rowtime, Schema

__all__ = ["Descriptor", "Rowtime", "Schema"]
