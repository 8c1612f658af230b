"""Names that other programs have point to what does the same here."""

from __future__ import annotations

import pytest

from millrace.datastream import StreamExecutionEnvironment


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("from_elements", "from_collection"),
        ("parallelize", "from_collection"),
        ("from_colection", "from_collection"),
        ("from_sequnce", "from_sequence"),
    ],
)
def test_nearest_names(name: str, meant: str) -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    with pytest.raises(AttributeError, match=f"has no attribute '{name}', did you mean '{meant}'"):
        getattr(env, name)
