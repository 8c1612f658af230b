"""One Spark session for all tests, markers by place, Hypothesis profiles."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings
from tests.lanes import Lanes, add_options
from tests.reruns import Reruns
from tests.rings import DRAW, NUMBER, ONE_IN, TAKES_DRAWS, drawn
from tests.seeds import IN_CI

for _variable in ("MILLRACE_CONF_DIR", "FLINK_CONF_DIR"):
    os.environ.pop(_variable, None)  # what a user of this machine configures is not what tests expect

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def _own_run_folder() -> None:
    """No test sees what runs for the user who runs the tests, nor the other way round, nor what another lane runs."""
    folder = tempfile.mkdtemp(prefix="millrace-tests-run-")
    os.environ["MILLRACE_RUN_DIR"] = folder
    atexit.register(_remove, folder, os.getpid())


def _remove(folder: str, owner: int) -> None:
    if os.getpid() == owner:  # not in a fork
        shutil.rmtree(folder, ignore_errors=True)


_own_run_folder()

# Most commands that tests run are programs without a job: a JVM would start for each and be ended.
os.environ["MILLRACE_START_AHEAD"] = "0"

# Each rule of the optimizer is checked, also in programs that tests start.
os.environ["MILLRACE_CHECK_PLANS"] = "1"

_SPARK_TESTS = Path(__file__).parent / "spark"

# No deadline: the time of an example depends on what else the machine does. CI takes the
# same examples each time (tests/seeds.py), ring 2 fewer of them.
MOST_EXAMPLES = 10 if TAKES_DRAWS else 50
settings.register_profile("ci", deadline=None, derandomize=IN_CI, max_examples=MOST_EXAMPLES, print_blob=True)
settings.register_profile("thorough", settings.get_profile("ci"), max_examples=2_000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


def pytest_addoption(parser: pytest.Parser) -> None:
    add_options(parser)


def pytest_configure(config: pytest.Config) -> None:
    if config.option.lanes:
        config.pluginmanager.register(Lanes(config, _own_run_folder), "lanes")
    if IN_CI:
        config.option.reruns = 1
        config.pluginmanager.register(Reruns(), "reruns of this project")


def pytest_report_header() -> str | None:
    return f"a draw of the tests, by {DRAW}={NUMBER}" if TAKES_DRAWS or ONE_IN > 1 else None


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """The one local session that all tests share: starting a JVM takes longer than most of them."""
    from millrace.spark.sessions.session import local_session

    session = local_session(parallelism=2)
    yield session
    session.stop()


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> Generator[None, object, object]:
    """Mark as ``spark`` what lies under tests/spark/ or takes the ``spark`` fixture, before pytest looks at the markers
    for -m; take the draws of this run of what that has left."""
    for item in items:
        if item.path.is_relative_to(_SPARK_TESTS) or "spark" in getattr(item, "fixturenames", ()):
            item.add_marker("spark")
    result = yield
    items[:], left = drawn(items)
    if left:
        config.hook.pytest_deselected(items=left)
    return result
