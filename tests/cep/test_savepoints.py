"""Jobs with patterns go on from savepoints: those of earlier releases, and those of today with another parallelism.

If a test of an earlier release fails, the change that made it fail has to be undone: users have such savepoints.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
from tests.cep.pattern_jobs import GIVEN, JOBS
from tests.checkpoint.jobs import SavedJob, collecting
from tests.state.oracle import digest

from millrace.cep import CEP
from millrace.state import SavepointReader

SAVEPOINTS = Path(__file__).parents[1] / "data" / "savepoints" / "patterns"
KEPT = sorted(path.parent.relative_to(SAVEPOINTS).as_posix() for path in SAVEPOINTS.glob("*/*/_metadata"))


def test_there_is_one_of_each_kind() -> None:
    assert {f"0.1/{name}" for name in JOBS} <= set(KEPT)


@pytest.mark.parametrize("parallelism", [2, 3])
@pytest.mark.parametrize("kept", KEPT)
def test_a_job_goes_on_from_one_of_an_earlier_release(kept: str, parallelism: int, tmp_path: Path) -> None:
    build = JOBS[kept.rpartition("/")[2]]
    job = SavedJob(collecting(build, parallelism), tmp_path / "job")
    job.restore(str(SAVEPOINTS / kept))
    after = job.finish()
    whole = SavedJob(collecting(build, 1), tmp_path / "whole").finish()
    assert after, "something is left to be found"
    assert not Counter(after) - Counter(whole), "nothing that the program does not put out"
    before = Counter(whole) - Counter(after)
    assert digest(before.elements()) == json.loads((SAVEPOINTS / f"{kept}.json").read_text())


def test_partial_matches_of_a_savepoint_can_be_read() -> None:
    reader = SavepointReader.read(str(SAVEPOINTS / "0.1" / "patterns"), trust=True)
    found = dict(reader.keyed_state("given", "partial-matches").items())
    partials = [partial for stored in found.values() for partial in CEP.partial_matches(stored, GIVEN)]
    assert partials
    assert all(next(iter(partial.events)) == "a" for partial in partials)
