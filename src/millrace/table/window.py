"""Under PyFlink's path: see ``millrace.table.expression_methods.windows``."""

from millrace.table.expression_methods.windows import *  # noqa: F403
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
from millrace.table.expression_methods.windows import __all__ as __all__
