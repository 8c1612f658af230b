"""Sessions that run nothing on Spark."""

from __future__ import annotations

import pytest
from tests.cluster.sql.shop import SHOP

from millrace.cluster.gateway.sql_session import SqlSession


@pytest.fixture
def shop() -> SqlSession:
    """With tables and a view in it."""
    session = SqlSession({"table.local-time-zone": "UTC"})
    for statement in SHOP:
        session.environment.execute_sql(statement)
    return session
