# Written by `make tables` from millrace.pyflink_names: edit that, not this file.
"""``ResultTypeQueryable``. PyFlink's other helpers of this module convert Java objects."""

from __future__ import annotations

from millrace.common.io import ResultTypeQueryable

__all__ = [
    "ResultTypeQueryable",
]
