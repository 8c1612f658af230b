"""docs/connector-faults.md tells what was recorded, of every connector and every fault."""

from __future__ import annotations

import pytest
from tests.connectors.faults.all_places import PLACES
from tests.connectors.faults.place import Place
from tests.connectors.faults.recordings import PAGE, kept, page

from millrace.testing.connectors.faults import Fault


def test_the_page_is_what_was_recorded() -> None:
    assert PAGE.read_text("utf-8") == page(PLACES), "run scripts/connector_faults.py"


@pytest.mark.parametrize("place", PLACES, ids=lambda place: str(place.name))
def test_each_fault_was_tried_or_has_a_reason(place: type[Place]) -> None:
    tried = set(kept()[place.name])
    reasons = {fault.name for fault in place.reasons}
    assert all(place.reasons.values())
    assert tried | reasons == {fault.name for fault in Fault}
    assert not tried & reasons


def test_no_connector_that_is_not_there() -> None:
    assert set(kept()) == {place.name for place in PLACES}
