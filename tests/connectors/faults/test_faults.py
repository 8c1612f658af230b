"""Every connector meets every fault of its server, and what it says is what docs/connector-faults.md tells."""

from __future__ import annotations

import os
from typing import Any

import pytest
from tests.connectors.faults.all_places import PLACES
from tests.connectors.faults.place import WITHOUT_SERVER, Place, says
from tests.connectors.faults.recordings import keep, kept, recording, same

from millrace.testing.connectors.faults import Fault, observe_fault

RECORD = bool(os.environ.get("MILLRACE_RECORD_FAULTS"))


def _cases() -> list[Any]:
    found = []
    for place in PLACES:
        for fault in Fault:
            if fault in place.reasons:
                continue
            alone = fault in WITHOUT_SERVER or place.server is None
            marks = [] if alone else [pytest.mark.services, pytest.mark.slow, pytest.mark.connectors]
            if alone and place.slow:
                marks = [pytest.mark.slow, pytest.mark.connectors]
            found.append(pytest.param(place, fault, alone, marks=marks, id=f"{place.name}, {fault.name}"))
    return found


@pytest.mark.draw(2)
@pytest.mark.parametrize(("kind", "fault", "alone"), _cases())
def test_faults(kind: type[Place], fault: Fault, alone: bool, request: pytest.FixtureRequest) -> None:
    place = kind(None if alone or kind.server is None else request.getfixturevalue(kind.server))
    try:
        seen = recording(observe_fault(place, fault, says), place.names)
    finally:
        place.close()
    if RECORD:
        keep(place.name, fault, seen)
    recorded = kept()[place.name][fault.name]
    assert same(seen, recorded), f"{seen} is not {recorded}"
