"""The recipes of CONTRIBUTING.md do what they say, in as many files as they say."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.recipes.patches import ROOT, Recipe, apply, install, recipes, scratch_copy

ALL = recipes()
AT_MOST = {
    "A DataStream operator": 3,
    "A scalar function": 1,
    "An aggregate function": 1,
    "A plan node": 4,
    "A table connector": 2,
    "A format": 1,
    "A catalog": 1,
    "A window assigner": 2,
    "A kind of keyed state": 3,
    "A data type": 3,
    "A REST operation": 1,
    "A verb of the command": 1,
    "A configuration key": 2,
    "A metric reporter": 1,
    "A name under PyFlink's path": 1,
}
IN_BOTH_MODES = (
    "A scalar function",
    "An aggregate function",
    "A plan node",
    "A table connector",
    "A format",
    "A catalog",
)

BEGIN = """
from pathlib import Path

from click.testing import CliRunner
from tests.cluster.rest.client import sample_client
from tests.metrics.reporters.samples import COUNTER, METER

from millrace.cli.main import main
from millrace.common import Configuration
from millrace.common.state.counter import CounterStateDescriptor
from millrace.common.watermark_strategy import TimestampAssigner, WatermarkStrategy
from millrace.common.window import MonthlyEventTimeWindows
from millrace.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from millrace.metrics.reporters.scheduling import setups
from millrace.table import EnvironmentSettings, StreamTableEnvironment, TableEnvironment
"""
LOCALLY = """
from tests import local_jobs
StreamExecutionEnvironment._submit = local_jobs._submit
env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(1)
t_env = StreamTableEnvironment.create(env)
"""
IN_BATCH = """
t_env = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
"""
WORDS = """
words = t_env.from_elements([("mill",), ("race",), ("wheel",)], ["word"])
t_env.create_temporary_view("words", words)
"""


def printed(program: str, folder: Path) -> list[str]:
    path = os.pathsep.join((str(folder / "src"), str(ROOT)))
    ran = subprocess.run(
        [sys.executable, "-c", program],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout.splitlines()


@pytest.fixture(scope="module")
def patched(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy with all recipes: none is in another one's way."""
    folder = scratch_copy(tmp_path_factory.mktemp("recipes"))
    for recipe in ALL:
        apply(recipe, folder)
    install(folder)
    return folder


def test_there_is_a_recipe_for_each_kind() -> None:
    assert {recipe.title for recipe in ALL} == set(AT_MOST)


@pytest.mark.parametrize("recipe", ALL, ids=[recipe.title for recipe in ALL])
def test_places_to_touch(recipe: Recipe) -> None:
    assert len(recipe.files) == recipe.promised <= AT_MOST[recipe.title]


def test_they_do_what_they_say(patched: Path) -> None:
    program = BEGIN + LOCALLY + WORDS
    for recipe in ALL:
        program += f"print({recipe.title!r})\n{recipe.program}"
    wanted = [line for recipe in ALL for line in (recipe.title, *recipe.prints.splitlines())]
    assert printed(program, patched) == wanted


@pytest.mark.spark
def test_in_batch_mode_on_spark(patched: Path) -> None:
    chosen = [recipe for recipe in ALL if recipe.title in IN_BOTH_MODES]
    found = printed(BEGIN + IN_BATCH + WORDS + "\n".join(recipe.program for recipe in chosen), patched)
    assert sorted(found) == sorted(line for recipe in chosen for line in recipe.prints.splitlines())


def test_the_patched_source_passes_the_linter(patched: Path) -> None:
    files = [path for recipe in ALL for path in recipe.files]
    command = [sys.executable, "-m", "ruff", "check", "--config", str(ROOT / "pyproject.toml"), *files]
    ran = subprocess.run(command, cwd=patched, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout
