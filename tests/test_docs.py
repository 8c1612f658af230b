"""The documentation is true: its programs run and print what it says, its links lead somewhere.

A block ```` ```python ```` stands behind a comment that says how to run it:

    <!-- run: local -->            jobs run without Spark
    <!-- run: spark -->            on the Spark session of the tests
    <!-- run: local, spark -->     both, one after the other
    <!-- run: no, REASON -->       not at all

A block may have a name, <!-- file: shop.py -->: the programs further down on its page can import it.

A block ```` ```sql ```` behind <!-- run: sql --> is given to ``millrace sql``, each to a client of its own.

A block ```` ```text ```` right after it, with prose between them at most, is what it prints.
"""

from __future__ import annotations

import contextlib
import re
import runpy
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner
from tests.corpus import corpus
from tests.local_jobs import run_jobs_locally

from millrace import deactivate
from millrace.cli.main import main

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROOT = Path(__file__).parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
PROGRAM_PAGES = [page for page in PAGES if page.name == "README.md" or "docs" in page.relative_to(ROOT).parts]

TO_BE_WRITTEN: set[str] = set()
"""Pages that others may link to already. Whoever writes one takes it out."""

_MARK = re.compile(r"<!-- run: (?P<how>[^>]*?) -->")
_FILE = re.compile(r"<!-- file: (?P<name>[a-z_]+\.py) -->")
_FENCE = re.compile(r"(```+)(\w*)")
_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
_HEADING = re.compile(r"#{1,6} (.*)")
_WAYS = {"local", "spark"}


@dataclass(frozen=True)
class Block:
    """One fenced block of a page."""

    page: str
    line: int
    language: str
    text: str
    how: str | None
    """what the comment before it says"""
    file: str | None = None
    """the name under which programs below it find it"""

    @property
    def ways(self) -> set[str]:
        return {way.strip() for way in (self.how or "").split(",")}

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


def blocks_of(page: str, text: str) -> list[Block]:
    """The fenced blocks of a page, in order."""
    found: list[Block] = []
    how: str | None = None
    file: str | None = None
    fence: tuple[str, str, int] | None = None
    inside: list[str] = []
    for number, line in enumerate(text.splitlines(), start=1):
        if fence is not None:
            if line.strip() == fence[0]:
                found.append(Block(page, fence[2], fence[1], "".join(f"{kept}\n" for kept in inside), how, file))
                fence, inside, how, file = None, [], None, None
            else:
                inside.append(line)
        elif opened := _FENCE.fullmatch(line.strip()):
            fence = (opened[1], opened[2], number)
        elif mark := _MARK.fullmatch(line.strip()):
            how = mark["how"]
        elif named := _FILE.fullmatch(line.strip()):
            file = named["name"]
        elif line.strip():
            how = file = None
    assert fence is None, f"{page}: the block that begins in line {fence[2]} has no end"
    return found


def _name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def _programs(language: str) -> list[tuple[Block, str | None]]:
    """Every block of a language, with the output that the page shows for it."""
    programs: list[tuple[Block, str | None]] = []
    for page in PROGRAM_PAGES:
        blocks = blocks_of(_name(page), page.read_text("utf-8"))
        for block, after in zip(blocks, [*blocks[1:], None]):
            if block.language == language:
                output = after.text if after is not None and after.language == "text" else None
                programs.append((block, output))
    return programs


PROGRAMS = _programs("python")
SCRIPTS = [(block, output) for block, output in _programs("sql") if block.how == "sql"]


def _to_run(way: str) -> Any:
    """Ring 2 runs a sixth on Spark of those that it runs without Spark, too."""
    chosen = [(block, output) for block, output in PROGRAMS if way in block.ways]
    marks = [[pytest.mark.draw(6)] if way == "spark" and "local" in block.ways else [] for block, _ in chosen]
    cases = [pytest.param(*case, marks=each, id=str(case[0])) for case, each in zip(chosen, marks)]
    return pytest.mark.parametrize(("block", "output"), cases)


@corpus("block", [block for block, _ in PROGRAMS], 243)
def test_every_program_says_how_to_run_it(block: Block) -> None:
    if block.file is not None and block.how is None:
        return  # only imported
    assert block.how is not None, f"{block}: put <!-- run: local --> before the block, see tests/test_docs.py"
    if block.how.startswith("no"):
        assert re.fullmatch(r"no, \S.{9,}", block.how), f"{block}: say why it can't be run: <!-- run: no, REASON -->"
    else:
        assert block.ways <= _WAYS, f"{block}: run: {block.how} is none of local, spark, no"


@_to_run("local")
def test_program_without_spark(
    block: Block,
    output: str | None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    run_jobs_locally(monkeypatch)
    run_block(block, output, tmp_path, monkeypatch, capsys)


@_to_run("spark")
def test_program_on_spark(
    block: Block,
    output: str | None,
    spark: SparkSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    run_block(block, output, tmp_path, monkeypatch, capsys)


def run_block(
    block: Block,
    output: str | None,
    directory: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Run it in a folder, beside the files that its page has named before."""
    monkeypatch.chdir(directory)
    monkeypatch.syspath_prepend(directory)
    # Blank lines in front: tracebacks then show the line of the page.
    program = directory / f"{Path(block.page).stem}_line_{block.line}.py"
    program.write_text("\n" * block.line + block.text, "utf-8")
    with _files_of(block, directory), _pyflink_as_before():
        runpy.run_path(str(program), run_name="__main__")
    if output is not None:
        assert capsys.readouterr().out == output


@pytest.mark.parametrize(("block", "output"), SCRIPTS, ids=[str(block) for block, _ in SCRIPTS])
def test_sql(
    block: Block, output: str | None, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    options = ["-p", "1", "-D", "sql-client.display.print-time-cost=false"]
    ended = CliRunner().invoke(main, ["sql", *options, "-e", block.text])
    assert ended.exit_code == 0, ended.stderr
    if output is not None:
        assert ended.stdout == output


@contextlib.contextmanager
def _files_of(block: Block, directory: Path) -> Iterator[None]:
    """The files that stand above a block on its page."""
    above = blocks_of(block.page, (ROOT / block.page).read_text("utf-8"))
    files = {each.file: each.text for each in above if each.file is not None and each.line < block.line}
    for name, text in files.items():
        (directory / name).write_text(text, "utf-8")
    try:
        yield
    finally:
        for name in files:
            sys.modules.pop(name.removesuffix(".py"), None)


@contextlib.contextmanager
def _pyflink_as_before() -> Iterator[None]:
    before = list(sys.meta_path)
    try:
        yield
    finally:
        if sys.meta_path != before:
            deactivate()


# -- links --------------------------------------------------------------------------------------------------------


@corpus("page", PAGES, 121)
def test_links_lead_somewhere(page: Path) -> None:
    broken = []
    for target in _LINK.findall(_without_code(page.read_text("utf-8"))):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        name = file.relative_to(ROOT).as_posix() if file.is_relative_to(ROOT) else str(file)
        if name in TO_BE_WRITTEN:
            continue
        if not file.exists():
            broken.append(f"{target}: no such file")
        elif anchor and anchor not in _anchors(file.read_text("utf-8")):
            broken.append(f"{target}: no such heading")
    assert not broken


def test_pages_to_be_written_are_not_there_yet() -> None:
    written = sorted(name for name in TO_BE_WRITTEN if (ROOT / name).exists())
    assert not written, f"take {written} out of TO_BE_WRITTEN"


def test_every_decision_is_in_the_index() -> None:
    index = (ROOT / "docs/adr/README.md").read_text("utf-8")
    missing = [path.name for path in sorted((ROOT / "docs/adr").glob("[0-9]*.md")) if f"({path.name})" not in index]
    assert not missing


def _anchors(text: str) -> set[str]:
    """The names that GitHub gives to the headings of a page."""
    headings = [match[1] for line in _without_code(text).splitlines() if (match := _HEADING.fullmatch(line))]
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


def _without_code(text: str) -> str:
    return re.sub(r"^```.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE)


# -- the tests' own reading of pages ------------------------------------------------------------------------------


def test_blocks_are_found_with_their_comment_and_line() -> None:
    text = "<!-- run: local -->\n```python\nx = 1\n```\n\nIt prints:\n\n```text\n1\n```\n"
    first, second = blocks_of("a.md", text)
    assert (first.line, first.language, first.text, first.how) == (2, "python", "x = 1\n", "local")
    assert (second.line, second.language, second.text, second.how) == (8, "text", "1\n", None)


def test_a_block_may_have_a_name() -> None:
    text = "<!-- file: shop.py -->\n<!-- run: local -->\n```python\nx = 1\n```\n\n```python\n```\n"
    first, second = blocks_of("a.md", text)
    assert (first.file, first.how, second.file) == ("shop.py", "local", None)


def test_a_comment_counts_only_right_before_its_block() -> None:
    (block,) = blocks_of("a.md", "<!-- run: local -->\n\nprose\n\n```python\n```\n")
    assert block.how is None


def test_a_block_without_end_is_an_error() -> None:
    with pytest.raises(AssertionError, match=r"a\.md: the block that begins in line 1"):
        blocks_of("a.md", "```python\nx = 1\n")


def test_anchors_are_those_of_headings() -> None:
    assert _anchors("# A `b` c!\n```\n# no\n```\n## Two words\n") == {"a-b-c", "two-words"}
