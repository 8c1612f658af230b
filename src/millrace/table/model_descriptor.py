"""Under PyFlink's path: see ``millrace.table.catalogs.descriptors``."""

from __future__ import annotations

from millrace.table.catalogs.descriptors import ModelDescriptor

__all__ = ["ModelDescriptor"]
