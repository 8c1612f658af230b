"""What was recorded is whole, small and free of what is different each time."""

from __future__ import annotations

import re

import pytest
from tests.flink.rest.answer import FOLDER, NOT_ASKED, read
from tests.flink.rest.ask import REST, SURFACES
from tests.flink.rest.asks import all_asks
from tests.flink.rest.asks.operations import OPERATIONS
from tests.flink.rest.cli import said
from tests.flink.rest.cli.steps import steps
from tests.flink.rest.running import NOT_KEPT

LARGEST = 1_000_000
TRACES = (r"\\tat |\bat org\.", r"/(tmp|home|root)/", r"localhost:\d{4,}", r"\d\d-\d\d \d\d:\d\d:\d\d,\d")


def test_every_operation_was_asked() -> None:
    asked = {(ask.method, ask.path) for ask in all_asks()}
    assert len(OPERATIONS) == 78
    assert set(OPERATIONS) <= asked


@pytest.mark.parametrize("surface", SURFACES)
def test_every_request_was_recorded(surface: str) -> None:
    wanted = {ask.key for ask in all_asks(surface)}
    assert set(read(surface)) == wanted, "run `make flink RECORD=1`"


def test_every_command_line_was_recorded() -> None:
    assert set(said.read()) == {step.key for step in steps()}, "run `make flink RECORD=1`"


def test_almost_all_could_be_asked() -> None:
    """What could not needs the id of an operation that Flink refused to begin."""
    for surface in SURFACES:
        for key, answer in read(surface).items():
            if answer.status == NOT_ASKED:
                assert answer.why.startswith(NOT_KEPT), key


def test_operations_that_answer() -> None:
    """Of each operation there is an answer that is no error."""
    known = read(REST) | read("adaptive")
    answered = {(ask.method, ask.path) for ask in all_asks() if 200 <= known.get(ask.key, NONE).status < 400}
    assert set(OPERATIONS) - answered == NEVER


class _None:
    status = NOT_ASKED


NONE = _None()
# Flink 2.3 refuses every rescaling; the operation is left in its description.
NEVER = {
    ("PATCH", "/jobs/{jobid}/rescaling"),
    ("GET", "/jobs/{jobid}/rescaling/{triggerid}"),
}


def test_it_is_small() -> None:
    assert sum(file.stat().st_size for file in FOLDER.iterdir()) < LARGEST


def test_nothing_of_one_run_is_in_it() -> None:
    for file in FOLDER.iterdir():
        text = file.read_text("utf-8")
        # Stack traces, folders, ports, times.
        for pattern in TRACES:
            found = re.search(f".{{0,80}}{pattern}.{{0,80}}", text)
            assert found is None, f"{file.name}: {found and found[0]}"
