"""Messages of commits: which are found to be badly written, and which commits are looked at."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from scripts.house.commits import MAX_SUBJECT, badly_written, problems_of

WHY = "It was slow."


class Repository:
    """A repository with a file that names the commit after which messages are looked at."""

    def __init__(self, root: Path) -> None:
        self.root = root
        root.mkdir()
        self.git("init", "-q", "-b", "main")
        self.git("config", "user.name", "A Tester")
        self.git("config", "user.email", "tester@example.org")

    def git(self, *arguments: str) -> str:
        command = ["git", "-C", str(self.root), *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    def commit(self, message: str) -> str:
        self.git("commit", "-q", "--allow-empty", "-m", message)
        return self.git("rev-parse", "HEAD")

    def since(self, commit: str) -> None:
        (self.root / "pyproject.toml").write_text(f'[tool.millrace.house]\ncommits-since = "{commit}"\n')

    def found(self) -> list[str]:
        return list(badly_written(self.root))


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository(tmp_path / "repository")


@pytest.mark.parametrize(
    ("subject", "body", "problems"),
    [
        ("Fire timers in time order", WHY, []),
        ("x" * MAX_SUBJECT, WHY, []),
        ("x" * (MAX_SUBJECT + 1), WHY, ["the subject has 73 characters"]),
        ("Fire timers in time order", "", ["it has no body"]),
        ("Fire timers in time order", "\n  \n", ["it has no body"]),
        ("Fire timers in time order", "Co-authored-by: A Tester <a@example.org>", ["it has no body"]),
        ("Fire timers in time order", f"{WHY}\n\nSigned-off-by: A Tester <a@example.org>", []),
        ("Fire timers in time order", "Breaking: timers fire later.", []),
        ("x" * 100, "", ["the subject has 100 characters", "it has no body"]),
    ],
)
def test_messages(subject: str, body: str, problems: list[str]) -> None:
    found = list(problems_of(subject, body))
    assert len(found) == len(problems)
    assert all(each.startswith(problem) for each, problem in zip(found, problems))


def test_commits_since_one_are_looked_at(repository: Repository) -> None:
    repository.commit("old and without a body")
    repository.since(repository.commit("the last of the old ones"))
    assert repository.found() == []
    repository.commit(f"Good\n\n{WHY}")
    bad = repository.commit("Bad: nothing says why")
    repository.commit(f"A subject that\ngoes on in the next line{'e' * 60}\n\n{WHY}")
    first, second = repository.found()
    assert bad.startswith(first.split()[1].strip(","))
    assert "no body" in first
    assert "characters" in second


def test_merges_are_left_out(repository: Repository) -> None:
    repository.since(repository.commit("old"))
    repository.git("checkout", "-q", "-b", "other")
    repository.commit(f"On the branch\n\n{WHY}")
    repository.git("checkout", "-q", "main")
    repository.git("merge", "-q", "--no-ff", "-m", f"Merge branch 'other'{' and more' * 20}", "other")
    assert repository.found() == []


def test_a_shallow_clone_has_what_it_has(repository: Repository, tmp_path: Path) -> None:
    repository.since(repository.commit("old"))
    repository.git("add", "pyproject.toml")
    repository.commit(f"A file\n\n{WHY}")
    repository.commit("bad")
    repository.git("clone", "-q", "--depth", "1", repository.root.as_uri(), str(tmp_path / "shallow"))
    (found,) = badly_written(tmp_path / "shallow")
    assert "'bad': it has no body" in found


def test_a_commit_that_is_not_there(repository: Repository) -> None:
    repository.since("0" * 40)
    repository.commit("any")
    (found,) = repository.found()
    assert "names no commit" in found


def test_no_repository(tmp_path: Path) -> None:
    assert list(badly_written(tmp_path)) == []
