"""``import pyflink`` that resolves to Millrace."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

import millrace


@pytest.fixture
def active() -> Iterator[None]:
    millrace.activate()
    yield
    millrace.deactivate()


def load(name: str) -> ModuleType:
    return importlib.import_module(name)


@pytest.mark.parametrize(
    "name",
    [
        "common", "common.typeinfo", "datastream", "datastream.functions", "datastream.connectors.file_system",
        "datastream.formats.json", "metrics", "util.exceptions",
    ],
)  # fmt: skip
def test_modules_are_the_same_objects(active: None, name: str) -> None:
    ours = load(f"millrace.{name}")
    spec = ours.__spec__
    assert load(f"pyflink.{name}") is ours
    assert (ours.__name__, ours.__spec__) == (f"millrace.{name}", spec)
    assert load(f"pyflink.{name}") is ours


def test_classes_are_the_same(active: None) -> None:
    scope: dict[str, object] = {}
    exec(
        "from pyflink.common import Row, Types\n"
        "from pyflink.datastream.connectors.file_system import FileSource\n"
        "import pyflink.datastream.functions\n"
        "M = pyflink.datastream.functions.MapFunction\n",
        scope,
    )
    from millrace.common import Row, Types
    from millrace.datastream.connectors.file_system import FileSource
    from millrace.datastream.functions import MapFunction

    assert (scope["Row"], scope["Types"], scope["FileSource"], scope["M"]) == (Row, Types, FileSource, MapFunction)


def test_the_version_is_that_of_the_api(active: None) -> None:
    assert load("pyflink.version").__version__ == load("pyflink").__version__ == "2.3.0"
    assert millrace.__version__ != "2.3.0"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("pyflink.table.nothing", "No module named 'pyflink.table.nothing': Millrace stands in for PyFlink here"),
        ("pyflink.common.utils", "No module named 'pyflink.common.utils': Millrace stands in for PyFlink here"),
        ("pyflink.common.utils", "and has no 'millrace.common.utils'"),
        ("pyflink.gen_protos", "has no 'millrace.gen_protos', only pyflink.common, pyflink.datastream"),
        ("pyflink.spark.session", "has no 'millrace.spark'"),
    ],
)  # fmt: skip
def test_what_is_missing_is_named(active: None, name: str, text: str) -> None:
    with pytest.raises(ModuleNotFoundError) as raised:
        load(name)
    assert text in str(raised.value)
    assert raised.value.name is not None
    assert name.startswith(raised.value.name)


def test_names_that_are_not_there_yet_are_named_too(active: None) -> None:
    with pytest.raises(NotImplementedError, match=r"pyflink\.datastream\.connectors\.pulsar\.PulsarSource is not in"):
        exec("from pyflink.datastream.connectors.pulsar import PulsarSource; PulsarSource.builder()", {})


def test_it_can_be_called_again_and_undone() -> None:
    finders = list(sys.meta_path)
    millrace.activate()
    millrace.activate()
    assert len(sys.meta_path) == len(finders) + 1
    load("pyflink.common")
    millrace.deactivate()
    millrace.deactivate()
    assert sys.meta_path == finders
    assert not [name for name in sys.modules if name.partition(".")[0] == "pyflink"]
    assert millrace.common.__spec__ is not None  # type: ignore[attr-defined]


def test_it_does_not_replace_a_pyflink_that_is_already_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    real = ModuleType("pyflink")
    real.__file__ = "/site-packages/pyflink/__init__.py"
    monkeypatch.setitem(sys.modules, "pyflink", real)
    with pytest.raises(RuntimeError, match=r"already imported \(/site-packages/pyflink/__init__.py\): call"):
        millrace.activate()
    millrace.deactivate()
    assert sys.modules["pyflink"] is real


def test_the_function_is_not_hidden_by_its_module() -> None:
    load("millrace.activate")
    assert callable(millrace.activate)


def test_a_stopgap_is_used_when_pyflink_is_imported() -> None:
    from millrace.activate import activate_where_missing, is_active

    told: list[str] = []
    activate_where_missing(lambda: told.append("told"))
    try:
        assert not is_active() and told == []
        assert load("pyflink.table") is load("millrace.table")
        load("pyflink.common")
        assert is_active() and told == ["told"]
    finally:
        millrace.deactivate()
    with pytest.raises(ModuleNotFoundError):
        load("pyflink")


def test_a_pyflink_that_is_installed_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from millrace.activate import activate_where_missing, is_active

    (tmp_path / "pyflink").mkdir()
    (tmp_path / "pyflink" / "__init__.py").write_text("own = True")
    monkeypatch.syspath_prepend(tmp_path)
    activate_where_missing(lambda: pytest.fail("PyFlink is there"))
    try:
        assert load("pyflink").own and not is_active()
    finally:
        millrace.deactivate()
        sys.modules.pop("pyflink", None)
