"""One Spark session for all tests, markers by place, Hypothesis profiles."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings
from tests.reruns import Reruns
from tests.rings import TAKES_DRAWS, drawn
from tests.seeds import IN_CI
from tests.without_java import check, left_out

for _variable in ("MILLRACE_CONF_DIR", "FLINK_CONF_DIR"):
    os.environ.pop(_variable, None)  # what a user of this machine configures is not what tests expect

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# No test sees what runs for the user who runs the tests, nor the other way round.
os.environ["MILLRACE_RUN_DIR"] = tempfile.mkdtemp(prefix="millrace-tests-run-")
atexit.register(shutil.rmtree, os.environ["MILLRACE_RUN_DIR"], ignore_errors=True)

# Most commands that tests run are programs without a job: a JVM would start for each and be ended.
os.environ["MILLRACE_START_AHEAD"] = "0"

# Each rule of the optimizer is checked, also in programs that tests start.
os.environ["MILLRACE_CHECK_PLANS"] = "1"

_SPARK_TESTS = Path(__file__).parent / "spark"

# No deadline: the time of an example depends on what else the machine does. CI takes the
# same examples each time (tests/seeds.py), fewer of them.
settings.register_profile("ci", deadline=None, derandomize=IN_CI, max_examples=30 if IN_CI else 50, print_blob=True)
settings.register_profile("thorough", settings.get_profile("ci"), max_examples=2_000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


def pytest_configure(config: pytest.Config) -> None:
    if IN_CI:
        config.option.reruns = 1
        config.pluginmanager.register(Reruns(), "reruns of this project")


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """The one local session that all tests share: starting a JVM takes longer than most of them."""
    from millrace.spark.sessions.session import local_session

    session = local_session(parallelism=2)
    yield session
    session.stop()


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    return True if left_out(collection_path, config.option.markexpr) else None


@pytest.hookimpl(tryfirst=True)  # before pytest looks at the markers for -m
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark as ``spark`` what lies under tests/spark/ or takes the ``spark`` fixture, and take the draws of ring 2."""
    for item in items:
        if item.path.is_relative_to(_SPARK_TESTS) or "spark" in getattr(item, "fixturenames", ()):
            item.add_marker("spark")
    check(items)
    if TAKES_DRAWS:
        items[:], left = drawn(items)
        config.hook.pytest_deselected(items=left)
