"""The bounded form of ``make crash-cdc``."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.crash.cdc.databases import DATABASES
from tests.crash.cdc.rounds import run
from tests.services import missing

from millrace.testing.services import ServiceUnavailable


@pytest.mark.slow
@pytest.mark.services
@pytest.mark.parametrize("kind", DATABASES)
def test_a_captured_table_is_copied_whatever_is_killed(kind: str, tmp_path: Path) -> None:
    try:
        found = run(rows=50_000, rate=500, kills=4, seed=3, folder=tmp_path, kind=kind)
    except ServiceUnavailable as error:
        missing(error)
    assert (found["missing"], found["more"]) == (0, 0)
    assert sum(found["kills"].values()) == 4
