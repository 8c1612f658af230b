"""What tests of stored queries share."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(params=["memory", "disk"])
def disk(request: pytest.FixtureRequest, tmp_path: Path) -> Path | None:
    """Where the state is, if not in memory."""
    return tmp_path / "state" if request.param == "disk" else None
