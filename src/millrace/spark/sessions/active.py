"""Spark's context of this process, without importing Spark."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark import SparkContext


def spark_context() -> SparkContext | None:
    """The context if this process has one already."""
    pyspark = sys.modules.get("pyspark")
    return None if pyspark is None else pyspark.SparkContext._active_spark_context
