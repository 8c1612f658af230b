"""Entry points: those that Millrace declares exist, and one that is not there is an error with the cure."""

from __future__ import annotations

from pathlib import Path

import pytest

from millrace.util import plugins

try:
    import tomllib
except ImportError:
    import tomli as tomllib  # type: ignore[import-not-found, no-redef]

PROJECT = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text("utf-8"))["project"]
DECLARED = [
    (group, name, value)
    for group, points in PROJECT["entry-points"].items()
    if group.startswith("millrace.")
    for name, value in points.items()
]


@pytest.mark.parametrize(("group", "name", "value"), DECLARED)
def test_what_is_declared_is_installed_and_loads(group: str, name: str, value: str) -> None:
    found = plugins.load(group, name)
    module, _, attribute = value.partition(":")
    assert (f"{found.__module__}:{found.__qualname__}" if attribute else found.__name__) == value, module


def test_the_distribution_is_named_as_in_the_project() -> None:
    assert PROJECT["name"] == plugins.DISTRIBUTION


def test_a_name_that_no_package_has() -> None:
    with pytest.raises(
        LookupError, match=r"no installed package has an entry point 'flink' of 'millrace.engines': inst"
    ):
        plugins.load(plugins.ENGINES, "flink")
