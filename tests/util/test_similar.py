"""Names that may have been meant."""

from __future__ import annotations

from millrace.util.names import did_you_mean


def test_a_close_name_is_proposed() -> None:
    assert did_you_mean("JSN", ["csv", "json"]) == ", did you mean 'json'?"
    assert did_you_mean("something", ["csv", "json"]) == ""
    assert did_you_mean("x", []) == ""
