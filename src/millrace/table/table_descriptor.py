# Written by `make tables` from millrace.pyflink_names: edit that, not this file.
"""``FormatDescriptor`` and ``TableDescriptor``, under PyFlink's path."""

from __future__ import annotations

from millrace.table.catalogs.descriptors import FormatDescriptor, TableDescriptor

__all__ = [
    "FormatDescriptor",
    "TableDescriptor",
]
