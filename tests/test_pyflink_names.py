"""The table of PyFlink's public names is complete and true, and the doors are written from it."""

from __future__ import annotations

import importlib
import json
import re
from pathlib import Path
from typing import Any

import pytest
from scripts.doors import abandoned, doors
from scripts.house.tree import SOURCE

import millrace
from millrace.pyflink_names import NAMES
from millrace.pyflink_names.public_module import each
from millrace.testing import run_locally
from millrace.util.not_yet import Missing

THEIRS: dict[str, Any] = json.loads((Path(__file__).parent / "data" / "pyflink-signatures.json").read_text("utf-8"))[
    "modules"
]
SECTIONS = ("exports", "classes", "functions", "constants")


def test_the_doors_are_as_the_table_says() -> None:
    different = [str(file) for file, text in doors().items() if not file.exists() or file.read_text("utf-8") != text]
    assert not different, "run `make tables`: these files are written from millrace.pyflink_names"
    assert not abandoned()


def test_every_public_name_of_pyflink_stands_in_the_table_once() -> None:
    compared = 0
    for name, theirs in THEIRS.items():
        module = NAMES[name.removeprefix("pyflink.")]
        lists = (module.here, module.unlisted, module.late, module.not_yet, module.absent)
        ours = [word for names in lists for _, word, _ in each(names)]
        public = {word for section in SECTIONS for word in theirs[section]}
        assert public <= set(ours), (name, public - set(ours))
        assert len(ours) == len(set(ours)), (name, sorted(word for word in ours if ours.count(word) > 1))
        compared += len(public)
    assert compared >= 916


def test_every_name_is_where_the_table_says() -> None:
    compared = 0
    for name, module in NAMES.items():
        if module.served:
            importlib.import_module(f"millrace.{module.served}")
            continue
        for word, home in module.places().items():
            place, _, there = home.partition(":")
            expected = getattr(importlib.import_module(f"millrace.{place}"), there)
            assert getattr(importlib.import_module(f"millrace.{name}"), word) is expected, (name, word)
            compared += 1
    assert compared >= 1085


def test_a_package_exports_what_the_table_lists() -> None:
    for name, module in NAMES.items():
        if module.is_door(name) and module.here:
            assert importlib.import_module(f"millrace.{name}").__all__ == [word for _, word, _ in each(module.here)]


def test_what_is_absent_is_not_there() -> None:
    for name, module in NAMES.items():
        for _, word, _ in each(module.absent):
            try:
                ours = importlib.import_module(f"millrace.{name}")
            except ModuleNotFoundError:
                continue
            assert not hasattr(ours, word), (name, word)


def test_what_exists_cannot_be_refused() -> None:
    """The tree has no class or function of the name, whatever its module."""
    refused = {word: name for name, module in NAMES.items() for _, word, _ in each(module.not_yet)}
    there = {
        word: str(file)
        for file in SOURCE.rglob("*.py")
        for word in re.findall(r"^(?:class|def) (\w+)", file.read_text("utf-8"), re.MULTILINE)
    }
    assert {word: there[word] for word in refused.keys() & there.keys()} == {}
    assert {"HybridSource", "FileCompactor"} <= there.keys() - refused.keys()


def test_every_refusal_names_an_alternative_and_every_absence_a_reason() -> None:
    for module in NAMES.values():
        for names in (module.not_yet, module.absent):
            assert all(text.strip() and names[text].split() for text in names)


def test_a_refused_name_is_refused_from_pyflinks_module() -> None:
    millrace.activate()
    try:
        for name, module in NAMES.items():
            for _, word, _ in each(module.not_yet):
                found = getattr(importlib.import_module(f"pyflink.{name}"), word)
                assert isinstance(found, Missing)
        given: dict[str, Any] = {}
        exec("from pyflink.table.catalog import *", given)
        with pytest.raises(NotImplementedError, match=r"pyflink\.table\.catalog\.HiveCatalog is not in Millrace yet"):
            given["HiveCatalog"]("hive")
    finally:
        millrace.deactivate()


def test_all_modules_of_the_table_can_be_imported_from_pyflink() -> None:
    millrace.activate()
    try:
        for name, module in NAMES.items():
            if (SOURCE / f"{name.replace('.', '/')}.py").exists() or module.here or module.served:
                assert importlib.import_module(f"pyflink.{name}")
        with pytest.raises(ModuleNotFoundError, match=r"PyFlink has none; import 'millrace.datastream.handles'"):
            importlib.import_module("pyflink.datastream.handles")
    finally:
        millrace.deactivate()


HYBRID = """
from pyflink.common import Types, WatermarkStrategy
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.datastream.connectors.hybrid_source import HybridSource
from pyflink.datastream.connectors.number_seq import NumberSequenceSource

env = StreamExecutionEnvironment.get_execution_environment()
source = HybridSource.builder(NumberSequenceSource(1, 3)).add_source(NumberSequenceSource(7, 9)).build()
numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "past and present", type_info=Types.LONG())
"""

COMPACTED = """
from pyflink.common import Encoder, Types
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.datastream.connectors.file_system import FileCompactor, FileCompactStrategy, FileSink

env = StreamExecutionEnvironment.get_execution_environment()
strategy = FileCompactStrategy.builder().enable_compaction_on_checkpoint(1).build()
sink = (
    FileSink.for_row_format(folder, Encoder.simple_string_encoder())
    .enable_compact(strategy, FileCompactor.concat_file_compactor(b"\\n"))
    .build()
)
env.from_collection(["a", "b", "c"], Types.STRING()).sink_to(sink)
"""


def pyflink_program(text: str, **given: Any) -> dict[str, Any]:
    """The variables of a program that knows PyFlink only."""
    millrace.activate()
    try:
        exec(text, given)
    finally:
        millrace.deactivate()
    return given


def test_a_hybrid_source_works_from_an_unchanged_program() -> None:
    program = pyflink_program(HYBRID)
    assert sorted(run_locally(program["numbers"]).collected) == [1, 2, 3, 7, 8, 9]


def test_files_are_compacted_from_an_unchanged_program(tmp_path: Path) -> None:
    program = pyflink_program(COMPACTED, folder=str(tmp_path))
    run_locally(program["env"])
    lines = [line for file in tmp_path.rglob("*") if file.is_file() for line in file.read_text().split()]
    assert sorted(lines) == ["a", "b", "c"]
