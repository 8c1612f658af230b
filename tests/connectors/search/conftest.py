"""Search servers, for tests that are the same for all."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from tests.connectors.search.indexes import Indexes, SearchTables


@pytest.fixture
def tables() -> SearchTables:
    return SearchTables()


@pytest.fixture(
    params=[
        pytest.param("opensearch", marks=pytest.mark.services),
        pytest.param("elasticsearch", marks=[pytest.mark.services, pytest.mark.slow]),
    ]
)
def indexes(request: Any) -> Iterator[Indexes]:
    found = Indexes(request.getfixturevalue(request.param))
    yield found
    found.close()


@pytest.fixture
def on_opensearch(opensearch: Any) -> Iterator[Indexes]:
    found = Indexes(opensearch)
    yield found
    found.close()
