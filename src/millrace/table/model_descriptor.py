"""Under PyFlink's path: see ``millrace.table.descriptions.model_descriptor``."""

from __future__ import annotations

from millrace.table.descriptions.model_descriptor import ModelDescriptor

__all__ = ["ModelDescriptor"]
