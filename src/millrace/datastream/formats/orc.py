"""ORC under PyFlink's names; the code is in ``millrace.formats.orc``."""

from __future__ import annotations

from millrace.formats.orc import OrcBulkWriters

__all__ = ["OrcBulkWriters"]
