# Written by `make tables` from millrace.pyflink_names: edit that, not this file.
"""Windows of the Table API, under PyFlink's path."""

from __future__ import annotations

from millrace.table.expression_methods.windows import GroupWindow, Over, OverWindow, Session, Slide, Tumble
from millrace.table.expression_methods.windows import OverWindowPartitioned as OverWindowPartitioned
from millrace.table.expression_methods.windows import OverWindowPartitionedOrdered as OverWindowPartitionedOrdered
from millrace.table.expression_methods.windows import (
    OverWindowPartitionedOrderedPreceding as OverWindowPartitionedOrderedPreceding,
)
from millrace.table.expression_methods.windows import SessionWithGap as SessionWithGap
from millrace.table.expression_methods.windows import SessionWithGapOnTime as SessionWithGapOnTime
from millrace.table.expression_methods.windows import SlideWithSize as SlideWithSize
from millrace.table.expression_methods.windows import SlideWithSizeAndSlide as SlideWithSizeAndSlide
from millrace.table.expression_methods.windows import SlideWithSizeAndSlideOnTime as SlideWithSizeAndSlideOnTime
from millrace.table.expression_methods.windows import TumbleWithSize as TumbleWithSize
from millrace.table.expression_methods.windows import TumbleWithSizeOnTime as TumbleWithSizeOnTime

__all__ = [
    "Tumble",
    "Session",
    "Slide",
    "Over",
    "GroupWindow",
    "OverWindow",
]
