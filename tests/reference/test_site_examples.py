"""Examples of docstrings on the documentation site."""

from __future__ import annotations

from scripts.site_pages.examples import fenced


def test_examples_become_blocks_of_code() -> None:
    text = "Adds.\n\n    >>> add(1,\n    ...     2)\n    3\n\n:param a: a number."
    assert fenced(text) == "Adds.\n\n```pycon\n>>> add(1,\n...     2)\n3\n```\n\n:param a: a number."


def test_examples_may_end_the_text_and_be_without_indentation() -> None:
    assert fenced("Adds.\n\n>>> add(1, 2)\n3") == "Adds.\n\n```pycon\n>>> add(1, 2)\n3\n```\n"


def test_other_text_stays() -> None:
    assert fenced("One > two >>> three.\n\n    code\n") == "One > two >>> three.\n\n    code\n"
