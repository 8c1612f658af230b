"""A MariaDB whose log is captured."""

from __future__ import annotations

import pytest
from tests.connectors.cdc.mysql.capturing import Server

from millrace.testing.services import MariaDB


@pytest.fixture
def server(mariadb: MariaDB) -> Server:
    return Server(mariadb)
