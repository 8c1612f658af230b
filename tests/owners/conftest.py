"""Keepers of these tests are forks of the process of the tests: most of a second less for each."""

from __future__ import annotations

from functools import partial

import pytest
from tests.forks import orphan

from millrace.spark.workers import keeper, pipe

BY_COMMAND = {
    "test_a_subtask_lives_in_one_process_and_opens_once",
    "test_a_keeper_that_is_killed_takes_its_owners_along_and_is_replaced",
    "test_warm",
}
"""tests, and modules of tests, whose keepers are started as outside of tests"""


@pytest.fixture(autouse=True)
def keepers(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if not BY_COMMAND & {request.node.name, request.node.path.stem}:
        monkeypatch.setattr(pipe, "_start_keeper", lambda process: orphan(partial(keeper.keep, process)))
