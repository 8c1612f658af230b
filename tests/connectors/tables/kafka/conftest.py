"""Tables of the topics of one broker."""

from __future__ import annotations

import pytest
from tests.connectors.kafka.topics import Topics
from tests.connectors.tables.kafka.topic_tables import Tables


@pytest.fixture
def tables(topics: Topics) -> Tables:
    return Tables(topics)
