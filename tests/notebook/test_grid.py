"""Rows as a table of HTML."""

from __future__ import annotations

from millrace.notebook.cells import folded, grid


def test_every_text_is_escaped_and_long_ones_are_cut() -> None:
    found = grid(["<a>"], ["ROW<x INT>"], [["<b>"], ["y" * 300]], "1 < 2")
    assert "<th>&lt;a&gt;<br><small>ROW&lt;x INT&gt;</small></th>" in found
    assert "<td>&lt;b&gt;</td>" in found and "1 &lt; 2" in found
    assert "y" * 199 + "…" in found and "y" * 200 not in found


def test_what_is_folded() -> None:
    assert folded("<Plan>", "<svg/>") == "<details><summary>&lt;Plan&gt;</summary><svg/></details>"
