# Written by `make tables` from millrace.pyflink_names: edit that, not this file.
"""``ModelDescriptor``, under PyFlink's path."""

from __future__ import annotations

from millrace.table.catalogs.descriptors import ModelDescriptor

__all__ = [
    "ModelDescriptor",
]
