# Written by `make tables` from millrace.pyflink_names: edit that, not this file.
"""ORC under PyFlink's names; the code is in ``millrace.formats.orc``."""

from __future__ import annotations

from millrace.formats.orc import OrcBulkWriters

__all__ = [
    "OrcBulkWriters",
]
