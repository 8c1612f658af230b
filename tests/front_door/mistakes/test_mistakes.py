"""What mistakes lead to: the message names the thing, the line and the cure, and is in the index of errors."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.front_door.mistakes.all_mistakes import MISTAKES
from tests.front_door.mistakes.mistake import Mistake, Way
from tests.front_door.mistakes.page import PAGE, section
from tests.front_door.mistakes.running import make

LINES = 12
"""A message has so many at most; a table's head that a query has printed before does not count."""
INSIDE = re.compile(
    r"site-packages|\bat (org|java|scala)\.|src/millrace|millrace/(cli|datastream|runtime|spark|table)/|object at 0x|"
    r"Py4JJavaError|<frozen"
)
"""What is nobody's business but Millrace's."""


def page_of_errors() -> str:
    return PAGE.read_text("utf-8")


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda each: each.title)
def test_the_message(mistake: Mistake, tmp_path: Path) -> None:
    said = make(mistake, tmp_path)
    assert said.exit_code == mistake.exit_code, said.text
    assert [part for part in mistake.says if part not in said.text] == [], said.text
    if mistake.line is not None:
        assert re.search(rf'job\.py(:|", line ){mistake.line}\b', said.text), said.text
    assert INSIDE.search(said.text) is None, said.text
    message = [line for line in said.text.splitlines() if not line.startswith(("+--", "| "))]
    assert len(message) <= LINES, said.text
    if not mistake.others_words:
        assert section(mistake, said.text) in page_of_errors(), "write the page anew: make errors"


def test_the_page_has_each_of_them_and_no_other() -> None:
    titles = re.findall(r"^### (.*)$", page_of_errors(), re.MULTILINE)
    assert titles == [mistake.title for mistake in MISTAKES], "write the page anew: make errors"


def test_there_are_sixty_and_each_has_a_cause_and_a_cure() -> None:
    assert len(MISTAKES) >= 60
    assert len({mistake.title for mistake in MISTAKES}) == len(MISTAKES)
    assert [mistake.title for mistake in MISTAKES if not (mistake.cause and mistake.cure and mistake.says)] == []


def test_programs_name_their_wrong_line() -> None:
    """All but those that are wrong as a whole, or that only warn of a setting."""
    without = [each.title for each in MISTAKES if each.way is Way.PROGRAM and each.line is None]
    assert without == [
        "A key of the configuration that is misspelt",
        "A savepoint that is not there",
        "A savepoint of another program",
    ]
