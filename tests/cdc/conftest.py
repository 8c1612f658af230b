"""The servers of these tests."""

from __future__ import annotations

from tests.connectors.conftest import mariadb as mariadb
from tests.connectors.conftest import postgres as postgres
