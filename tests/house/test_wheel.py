"""The wheel: it has the servers that users are told of, and none that only tests of Millrace start."""

from __future__ import annotations

import ast
import re
import zipfile
from pathlib import Path

import pytest
from hatchling.builders.wheel import WheelBuilder

from millrace.testing import services
from millrace.testing.services.__main__ import main

ROOT = Path(__file__).parents[2]
SERVICES = "millrace/testing/services/"
NO_SERVERS = {"Server", "ServiceUnavailable", "SmallServer", "Database", "SearchServer"}
"""bases of servers, and their error"""
OTHER_NAMES = {"Aws": "aws", "SchemaRegistry": "registry"}
"""where a server is not called as its class is"""


@pytest.fixture(scope="module")
def packed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The modules of a wheel built here: name in the wheel, and text."""
    (wheel,) = WheelBuilder(str(ROOT)).build(directory=str(tmp_path_factory.mktemp("wheel")), versions=["standard"])
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name).decode() for name in archive.namelist() if name.endswith(".py")}


def classes(text: str) -> set[str]:
    return {each.name for each in ast.parse(text).body if isinstance(each, ast.ClassDef) and each.name[0] != "_"}


def test_servers_of_tests_are_not_packed(packed: dict[str, str]) -> None:
    assert len(packed) > 800
    assert {name.partition("/")[0] for name in packed} == {"millrace"}
    only_for_tests = {name for path in (ROOT / "tests" / "servers").glob("*.py") for name in classes(path.read_text())}
    assert only_for_tests >= {"Carbon", "InfluxDb", "Prometheus", "Proxy"}
    found = {(name, each) for name, text in packed.items() if name.startswith(SERVICES) for each in classes(text)}
    assert not [pair for pair in found if pair[1] in only_for_tests]
    assert {each for _, each in found} - NO_SERVERS == set(services.__all__) - NO_SERVERS


def test_no_packed_module_imports_tests(packed: dict[str, str]) -> None:
    imports = re.compile(r"^\s*(from|import) tests\b", re.MULTILINE)
    assert not [name for name, text in packed.items() if imports.search(text)]


def test_users_are_told_of_every_packed_server(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--help"])
    usage = capsys.readouterr().out
    page = (ROOT / "docs" / "services.md").read_text()
    _, _, listed = page.partition("can be started by their names: ")
    told = set(listed.partition(".")[0].replace("`", "").replace("\n", " ").replace(" and ", ", ").split(", "))
    names = {OTHER_NAMES.get(each, each.lower()) for each in services.__all__} - {"serviceunavailable"}
    names = {"postgres" if each == "postgresql" else each for each in names}
    assert told == names
    assert not [each for each in names if each not in usage]
