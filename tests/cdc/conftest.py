"""The servers of these tests."""

from __future__ import annotations

from tests.connectors.conftest import broker as broker
from tests.connectors.conftest import mariadb as mariadb
from tests.connectors.conftest import postgres as postgres
from tests.connectors.conftest import topics as topics
