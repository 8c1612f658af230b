"""Ring 1: which test files a change needs."""

from __future__ import annotations

from pathlib import Path

from scripts.house.tree import read_tree
from scripts.rings.choose import choose, distances
from scripts.rings.record import longest
from tests.house.test_layers import write

TREE = {
    "low.py": "X = 1",
    "middle.py": "from millrace.low import X",
    "high.py": "def f():\n    from millrace.middle import X",
    "other.py": "",
}
TESTS = {
    "tests/test_low.py": {"millrace.low"},
    "tests/test_high.py": {"millrace.high", "millrace.other"},
    "tests/test_slow.py": {"millrace.low"},
    "tests/test_other.py": {"millrace.other"},
}


def test_tests_of_what_imports_a_changed_module_are_taken_the_nearest_first(tmp_path: Path) -> None:
    write(tmp_path, TREE)
    modules = read_tree(tmp_path)
    assert distances({"millrace.low"}, modules) == {"millrace.low": 0, "millrace.middle": 1, "millrace.high": 2}
    found = choose(["src/millrace/low.py", "README.md"], modules, TESTS, {"tests/test_slow.py": 50.0}, 60)
    assert found.taken == ("tests/test_low.py", "tests/test_slow.py", "tests/test_high.py")
    assert found.left == ()


def test_what_there_is_no_time_for_is_named(tmp_path: Path) -> None:
    write(tmp_path, TREE)
    found = choose(["src/millrace/low.py"], read_tree(tmp_path), TESTS, {"tests/test_slow.py": 50.0}, 40)
    assert found.taken == ("tests/test_low.py", "tests/test_high.py")
    assert found.left == ("tests/test_slow.py",)


def test_a_changed_test_always_runs(tmp_path: Path) -> None:
    write(tmp_path, TREE)
    found = choose(["tests/test_slow.py"], read_tree(tmp_path), TESTS, {"tests/test_slow.py": 50.0}, 1)
    assert found.taken == ("tests/test_slow.py",)


def test_what_takes_long_is_written_down() -> None:
    report = {"unit": {"tests/test_c.py": 0.1, "tests/a/test_b.py": 0.71}, "spark": {"tests/a/test_b.py": 3.0}}
    assert longest(report) == {"spark": {"tests/a/test_b.py": 3.0}, "unit": {"tests/a/test_b.py": 0.7}}
