"""Random queries give the same in streaming and in batch mode.

``make random SEED=.. COUNT=..`` runs more of them; ``python -m tests.random SEED NUMBER`` one of them again.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from tests.random.comparing import compare
from tests.random.known import KNOWN, reason
from tests.random.queries import ZONES
from tests.rings import TAKES_DRAWS
from tests.seeds import seed_of

from millrace.spark.tables.execute import batch_context
from millrace.spark.tables.steps.context import Context

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SEED = seed_of("MILLRACE_RANDOM_SEED")
COUNT = int(os.environ.get("MILLRACE_RANDOM_COUNT", "40" if TAKES_DRAWS else "100"))
GROUP = 20
QUICK = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.adaptive.enabled": "false",
}
"""compiling code for a handful of rows takes longer than reading them"""


@pytest.fixture(scope="module")
def contexts(spark: SparkSession) -> dict[str, Context]:
    return {zone: batch_context(spark, zone, configuration=QUICK) for zone in ZONES}


@pytest.mark.spark
@pytest.mark.parametrize("start", range(0, COUNT, GROUP))
def test_both_modes_give_the_same(start: int, contexts: dict[str, Context]) -> None:
    print(f"repeat with MILLRACE_RANDOM_SEED={SEED}")
    found = [compare(f"{SEED} {number}", contexts) for number in range(start, min(COUNT, start + GROUP))]
    wrong = [each for each in found if each.differs and reason(each) is None]
    assert not wrong, "\n\n".join(map(str, wrong))


def test_few_differences_are_known() -> None:
    assert len(KNOWN) <= 20
