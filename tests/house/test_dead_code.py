"""Dead code is found, and the list of what is called from outside is checked."""

from __future__ import annotations

from pathlib import Path

import pytest
from scripts.house import dead_code
from scripts.house.dead_code import dead, read_allowed
from vulture import Vulture
from vulture.core import Item

ALLOWED = "# A server calls it.\nservers.py: do_* variable:port\n"


def unused(folder: Path, text: str) -> list[Item]:
    file = folder / "servers.py"
    file.write_text(text, "utf-8")
    vulture = Vulture()
    vulture.scavenge([file])
    return vulture.get_unused_code(min_confidence=60)


@pytest.fixture(autouse=True)
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dead_code, "PACKAGE", tmp_path.resolve())


def test_a_dead_function_is_reported_with_its_place(tmp_path: Path) -> None:
    found = list(dead(unused(tmp_path, "\n\ndef forgotten():\n    pass\n"), set(), []))
    assert found == ["src/millrace/servers.py:3: unused function 'forgotten'"]


def test_what_is_used_outside_lives(tmp_path: Path) -> None:
    items = unused(tmp_path, "port = 80\n\ndef do_GET():\n    pass\n\ndef key_by():\n    pass\n")
    assert list(dead(items, {"key_by"}, read_allowed(ALLOWED))) == []


def test_the_kind_of_a_name_counts(tmp_path: Path) -> None:
    items = unused(tmp_path, "def port():\n    pass\n\ndef do_GET():\n    pass\n")
    assert list(dead(items, set(), read_allowed(ALLOWED))) == ["src/millrace/servers.py:1: unused function 'port'"]


def test_a_line_that_covers_nothing_is_reported() -> None:
    (line,) = dead([], set(), read_allowed(ALLOWED))
    assert line == "scripts/house/called_from_outside.txt:2: covers no dead name any more: delete it"


@pytest.mark.parametrize(
    "text", ["servers.py: do_GET\n", "# A reason.\n\nservers.py: do_GET\n", "# A reason.\nservers.py\n"]
)
def test_a_line_without_reason_or_names_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"called_from_outside.txt:\d: 'files: names' below a comment"):
        read_allowed(text)
