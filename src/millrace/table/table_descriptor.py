"""Under PyFlink's path: see ``millrace.table.descriptions.table_descriptor``."""

from __future__ import annotations

from millrace.table.descriptions.table_descriptor import FormatDescriptor, TableDescriptor

__all__ = ["FormatDescriptor", "TableDescriptor"]
