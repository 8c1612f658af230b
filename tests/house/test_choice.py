"""Ring 1: which test files a change needs."""

from __future__ import annotations

from pathlib import Path

from scripts.house.tree import read_tree
from scripts.rings.choose import choose, distances
from scripts.rings.record import durations
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


def test_durations_are_added_up_by_file(tmp_path: Path) -> None:
    report = tmp_path / "report.xml"
    report.write_text(
        '<testsuites><testsuite><testcase classname="tests.a.test_b" name="x" time="0.4"/>'
        '<testcase classname="tests.a.test_b" name="y" time="0.3"/>'
        '<testcase classname="tests.test_c" name="z" time="0.1"/></testsuite></testsuites>'
    )
    assert durations([report]) == {"tests/a/test_b.py": 0.7}
