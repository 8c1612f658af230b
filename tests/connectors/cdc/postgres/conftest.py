"""A schema and a slot for each test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.connectors.cdc.postgres.capturing import Captured

from millrace.testing.services import PostgreSQL


@pytest.fixture
def captured(postgres: PostgreSQL) -> Iterator[Captured]:
    place = Captured(postgres)
    yield place
    place.close()
