"""Which address a configuration names."""

from __future__ import annotations

import pytest

from millrace.cluster.addresses import named_in


@pytest.mark.parametrize(
    ("configuration", "address"),
    [
        ({}, None),
        ({"rest.address": "one"}, "one:8081"),
        ({"rest.port": "9000"}, "localhost:9000"),
        ({"rest.address": "one", "rest.port": "9000-9010"}, "one:9000"),
        ({"rest.address": "one", "rest.port": "none"}, "one:8081"),
    ],
)
def test_the_address_that_a_configuration_names(configuration: dict[str, str], address: str | None) -> None:
    assert named_in(configuration) == address
