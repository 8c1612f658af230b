# Written by `make tables` from millrace.pyflink_names: edit that, not this file.
"""Side outputs, under PyFlink's path."""

from __future__ import annotations

from millrace.common.output_tag import OutputTag

__all__ = [
    "OutputTag",
]
