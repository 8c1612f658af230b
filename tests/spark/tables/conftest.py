"""What the tests of batch plans share: one child session, and results as sorted rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest
from tests.spark.tables.plans import rows_of

from millrace.relational import nodes as n
from millrace.spark.tables.execute import batch_context, collect
from millrace.spark.tables.steps.context import Context

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Run = Callable[[n.Rel], list[tuple[Any, ...]]]


@pytest.fixture(scope="session")
def context(spark: SparkSession) -> Context:
    # Compiling code for a handful of rows takes longer than reading them, and so does planning in several steps.
    settings = {
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",
        "spark.sql.adaptive.enabled": "false",
    }
    return batch_context(spark, configuration=settings)


@pytest.fixture(scope="session")
def run(context: Context) -> Run:
    """The rows of a plan, in no order that means something: sorted by their text."""
    return lambda plan: sorted(rows_of(collect(plan, context), plan), key=repr)
