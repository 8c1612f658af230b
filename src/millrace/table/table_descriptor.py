"""Under PyFlink's path: see ``millrace.table.catalogs.descriptors``."""

from __future__ import annotations

from millrace.table.catalogs.descriptors import FormatDescriptor, TableDescriptor

__all__ = ["FormatDescriptor", "TableDescriptor"]
