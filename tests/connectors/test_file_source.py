"""FileSource: listing, splitting, reading on, monitoring."""

from __future__ import annotations

import bz2
import codecs
import gzip
import lzma
import os
import zlib
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from millrace.common.files.file_systems import locate
from millrace.common.source import Boundedness
from millrace.common.time import Duration
from millrace.common.typeinfo import Types
from millrace.connectors.file_system import FileEnumeratorProvider, FileSource, FileSplit, StreamFormat, file_format
from millrace.connectors.file_system.file_format import LineBlocks
from millrace.connectors.file_system.file_listing import list_files
from millrace.datastream.connectors import FileSource as ReexportedFileSource
from millrace.testing.connectors.runtime import Clock, SourceRun, read_all


def text_source(*paths: Path | str, split_size: int | None = None, charset: str = "UTF-8") -> FileSource[str]:
    builder = FileSource.for_record_stream_format(StreamFormat.text_line_format(charset), *map(str, paths))
    return builder.set_file_enumerator(FileEnumeratorProvider(True, split_size)).build()


def java_lines(text: str) -> list[str]:
    """What Java's BufferedReader.readLine gives."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return lines[:-1] if lines[-1] == "" else lines


@given(
    st.text(st.sampled_from("ab\n\r\u2028\x0bé"), max_size=60),
    st.integers(1, 30),
    st.integers(1, 4),
    st.integers(1, 9),
    st.lists(st.integers(1, 5), max_size=10),
)
def test_lines_are_read_once_however_they_are_cut(
    tmp_path_factory: pytest.TempPathFactory, text: str, split_size: int, parallelism: int, fetch: int, cuts: list[int]
) -> None:
    path = tmp_path_factory.mktemp("lines") / "file.txt"
    path.write_bytes(text.encode())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(file_format.LineBlocks.__init__, "__defaults__", (fetch,))
        run = SourceRun(text_source(path, split_size=split_size), parallelism)
        by_subtask = run.to_end(iter(cuts))
        if parallelism == 1:
            assert by_subtask == [java_lines(text)]
        assert sorted(line for lines in by_subtask for line in lines) == sorted(java_lines(text))


@given(
    st.sampled_from((b"", codecs.BOM_UTF8)),
    st.lists(st.sampled_from((b"a", b"\n", b"\r", b"\xc3\xa9", b"\xff")), max_size=60).map(b"".join),
    st.integers(1, 20),
    st.integers(1, 9),
    st.booleans(),
    st.data(),
)
def test_blocks_resume_at_every_position(
    tmp_path_factory: pytest.TempPathFactory,
    mark: bytes,
    content: bytes,
    size: int,
    fetch: int,
    returns: bool,
    data: st.DataObject,
) -> None:
    path = tmp_path_factory.mktemp("blocks") / "file"
    path.write_bytes(mark + content)
    read, length = [], len(mark + content)
    for offset in range(0, length, size):
        split = FileSplit(str(path), offset, min(size, length - offset), whole=False)
        blocks = LineBlocks(split, fetch, returns=returns)
        while (block := blocks.next_block()) is not None:
            read.append(block)
            if data.draw(st.booleans()):
                split = split.at(blocks.position)
                blocks.close()
                blocks = LineBlocks(split, fetch, returns=returns)
        blocks.close()
    assert b"".join(read) == content
    for block, following in pairwise(read):
        lone = returns and block.endswith(b"\r") and not following.startswith(b"\n")
        assert block.endswith(b"\n") or lone, "a line is cut"


_ENCODINGS = ("utf-8-sig", "utf-16", "utf-16-be", "utf-32", "utf-32-be")


def marked(text: str, encoding: str) -> bytes:
    """A text with the mark of its encoding."""
    return ("\ufeff" + text).encode(encoding) if encoding.endswith("-be") else text.encode(encoding)


@pytest.mark.parametrize("compress", [None, gzip.compress])
@pytest.mark.parametrize("encoding", _ENCODINGS)
def test_a_mark_at_the_beginning_says_the_encoding(
    tmp_path: Path, encoding: str, compress: Callable[[bytes], bytes] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = ["é1", "", "zwei\u010a", "\ufeffdrei"]
    content = marked("\n".join(lines), encoding)
    path = tmp_path / ("data.txt.gz" if compress else "data.txt")
    path.write_bytes(compress(content) if compress else content)
    monkeypatch.setattr(file_format.LineBlocks.__init__, "__defaults__", (5,))
    assert read_all(text_source(tmp_path, split_size=7), 1, budget=1) == lines


def test_a_mark_is_text_where_the_charset_is_another_one(tmp_path: Path) -> None:
    (tmp_path / "data.txt").write_bytes(codecs.BOM_UTF8 + b"a\n")
    assert read_all(text_source(tmp_path, charset="ISO-8859-1")) == ["ï»¿a"]


def test_half_a_character_of_utf_16_at_the_end(tmp_path: Path) -> None:
    (tmp_path / "data.txt").write_bytes("a\nb".encode("utf-16")[:-1])
    with pytest.raises(ValueError, match=r"data\.txt: 'utf-16-le' codec can't decode .*truncated"):
        read_all(text_source(tmp_path))


@pytest.mark.parametrize(
    ("extension", "compress"),
    [
        ("gz", gzip.compress),
        ("gzip", lambda data: gzip.compress(data[:100]) + gzip.compress(data[100:])),
        ("bz2", bz2.compress),
        ("xz", lzma.compress),
        ("deflate", zlib.compress),
        ("zst", lambda data: pa.compress(data, "zstd", asbytes=True)),
        ("lz4", lambda data: pa.compress(data, "lz4", asbytes=True)),
    ],
)
def test_compressed_files_are_read_whole_and_resumed(
    tmp_path: Path, extension: str, compress: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = [f"line {n}" for n in range(100)]
    (tmp_path / f"data.{extension}").write_bytes(compress("\n".join(lines).encode()))
    monkeypatch.setattr(file_format.LineBlocks.__init__, "__defaults__", (64,))
    assert read_all(text_source(tmp_path, split_size=10), 1, budget=3) == lines


@pytest.mark.parametrize("charset", ["GBK", "ISO-8859-1", "UTF-16", "UTF-32", "UTF-7"])
def test_charsets(tmp_path: Path, charset: str, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "düne\né1\n\nlast" if charset == "ISO-8859-1" else "中文\r\n数据\n\nlast"
    (tmp_path / "data.txt").write_bytes(text.encode(charset))
    monkeypatch.setattr("millrace.connectors.file_system.file_format.FETCH_SIZE", 1)
    assert read_all(text_source(tmp_path, split_size=3, charset=charset), 1, budget=1) == java_lines(text)


def test_undecodable_bytes(tmp_path: Path) -> None:
    path = tmp_path / "data.txt"
    path.write_bytes(b"fine\nb\xffd\n")
    assert read_all(text_source(path)) == ["fine", "b�d"]
    strict = FileSource.for_record_stream_format(StreamFormat.text_line_format("utf-8", "strict"), str(path)).build()
    with pytest.raises(ValueError, match=r"data\.txt, line 2 \(byte 6\): .*0xff"):
        read_all(strict)
    with pytest.raises(LookupError):
        StreamFormat.text_line_format("no-such-charset")


def test_listing_skips_hidden_names_and_sorts(tmp_path: Path) -> None:
    for name in ("b.txt", "a/c.txt", "_SUCCESS", ".part", "_tmp/x.txt", ".git/y", "a/.z"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(f"{name}\n")
    assert read_all(text_source(tmp_path)) == ["a/c.txt", "b.txt"]
    assert read_all(text_source(tmp_path / "_SUCCESS")) == ["_SUCCESS"]
    assert read_all(text_source(tmp_path, tmp_path / "b.txt", f"file://{tmp_path}/b.txt")) == ["a/c.txt", "b.txt"]


@pytest.mark.parametrize(
    ("glob", "expected"),
    [
        ("*.txt", ["1.txt", "2.txt"]),
        ("*", ["1.txt", "2.txt", "3.csv", "d/4.txt", "d/e/5.txt"]),
        ("d*", ["d/4.txt", "d/e/5.txt"]),
        ("**/*.txt", ["1.txt", "2.txt", "d/4.txt", "d/e/5.txt"]),
        ("[!1].*", ["2.txt", "3.csv"]),
        ("?.csv", ["3.csv"]),
        ("none*", []),
    ],
)
def test_globs(tmp_path: Path, glob: str, expected: list[str]) -> None:
    (tmp_path / "d" / "e").mkdir(parents=True)
    for name in ("1.txt", "2.txt", "3.csv", "d/4.txt", "d/e/5.txt"):
        (tmp_path / name).write_text(name)
    assert sorted(str(Path(file.path).relative_to(tmp_path)) for file in list_files(f"{tmp_path}/{glob}")) == expected


def test_a_file_name_with_glob_characters_is_itself(tmp_path: Path) -> None:
    (tmp_path / "a[1].txt").write_text("itself")
    assert read_all(text_source(tmp_path / "a[1].txt")) == ["itself"]


def test_a_missing_path_fails_at_the_start(tmp_path: Path) -> None:
    run = SourceRun(text_source(tmp_path / "missing"))
    with pytest.raises(FileNotFoundError, match=r"there is no file or folder .*/missing"):
        run.plan()
    with pytest.raises(FileNotFoundError, match=r"there is no file or folder .*/missing/\*"):
        SourceRun(text_source(tmp_path / "missing/*")).plan()
    with pytest.raises(ValueError, match="at least one path"):
        FileSource.for_record_stream_format(StreamFormat.text_line_format())


def test_an_unknown_scheme_names_fsspec() -> None:
    with pytest.raises(ValueError, match=r"no file system for nope://x/y: pyarrow says .*, (and )?fsspec"):
        locate("nope://x/y")


def test_relative_paths_become_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "in.txt").write_text("x\n")
    monkeypatch.chdir(tmp_path)
    source = text_source("in.txt")
    monkeypatch.chdir("/")
    assert read_all(source) == ["x"]


def test_monitoring_finds_new_files_in_the_order_of_time(tmp_path: Path) -> None:
    clock = Clock()
    builder = FileSource.for_record_stream_format(StreamFormat.text_line_format(), str(tmp_path))
    source = builder.monitor_continuously(Duration.of_seconds(10)).build()
    assert source.get_boundedness() is Boundedness.CONTINUOUS_UNBOUNDED
    run = SourceRun(source, 2, clock)
    run.epoch()
    assert run.records() == [[], []]
    for age, name in ((3, "new"), (1, "newest"), (9, "old"), (5, "older-than-new")):
        (tmp_path / name).write_text(f"{name}\n")
        os.utime(tmp_path / name, (1000 - age, 1000 - age))
    run.epoch()
    assert run.records() == [["old", "new"], ["older-than-new", "newest"]]
    (tmp_path / "later").write_text("later\n")
    state = run.state()
    run.epoch()
    restored = SourceRun(source, 2, clock)
    restored.restore(state)
    restored.epoch()
    assert run.records()[0][2:] == restored.records()[0] == ["later"]
    assert not run.ended
    assert read_all(builder.process_static_file_set().build()) == sorted(
        ["new", "newest", "old", "older-than-new", "later"]
    )


def test_what_was_seen_does_not_grow_for_ever(tmp_path: Path) -> None:
    """Files that are taken away when they are read; some are missing in one listing only."""
    source = FileSource.for_record_stream_format(StreamFormat.text_line_format(), str(tmp_path))
    run = SourceRun(source.monitor_continuously(Duration.of_millis(1)).build())
    written: list[str] = []
    for number in range(30):
        (tmp_path / f"file-{number}").write_text(f"{number}\n")
        written.append(str(number))
        run.epoch()
        run.epoch()
        if number == 10:
            hidden = (tmp_path / "file-10").rename(tmp_path.parent / "aside")
            run.epoch()
            hidden.rename(tmp_path / "file-10")
        elif number != 29:
            (tmp_path / f"file-{number}").unlink() if number > 5 else None
        run.clock.now += 10
    for _ in range(3):
        run.clock.now += 10
        run.epoch()
    assert run.records()[0] == written
    assert len(run.enumerator_state.seen) == len(list(tmp_path.iterdir())) == 8
    (tmp_path / "file-20").write_text("again\n")
    run.clock.now += 10
    run.epoch()
    assert run.records()[0][30:] == ["again"], "what is forgotten is a new file"


def test_monitoring_lists_again_only_after_the_interval(tmp_path: Path) -> None:
    from millrace.testing.connectors.runtime import EnumeratorContext

    clock = Clock()
    builder = FileSource.for_record_stream_format(StreamFormat.text_line_format(), str(tmp_path))
    context = EnumeratorContext(1, clock)
    enumerator = builder.monitor_continuously(Duration.of_millis(500)).build().create_enumerator(context)
    enumerator.start()
    (tmp_path / "file").write_text("x")
    clock.now += 499
    enumerator.handle_split_request(0)
    assert context.assigned == {}
    clock.now += 1
    enumerator.handle_split_request(0)
    assert [split.path for split in context.assigned[0]] == [str(tmp_path / "file")]
    enumerator.add_splits_back(context.assigned.pop(0), 0)
    enumerator.handle_split_request(0)
    assert len(context.assigned[0]) == 1


def test_large_files_are_split_by_default(tmp_path: Path) -> None:
    path = tmp_path / "large"
    path.write_bytes(b"x" * 1023 + b"\n")
    provider = FileEnumeratorProvider.default_splittable_file_enumerator()
    format = StreamFormat.text_line_format()
    (file,) = list_files(str(path))
    assert len(provider.splits(file, format, 4)) == 1
    from dataclasses import replace

    assert [s.length >> 20 for s in provider.splits(replace(file, size=40 << 20), format, 4)] == [10] * 4
    assert len(provider.splits(replace(file, size=640 << 20), format, 1)) == 1
    whole = FileEnumeratorProvider.default_non_splittable_file_enumerator()
    assert len(whole.splits(replace(file, size=640 << 20), format, 4)) == 1


@pytest.mark.parametrize(("files", "parallelism"), [(1, 1), (1, 2), (2, 2), (2, 4), (3, 4), (5, 2)])
def test_a_subtask_reads_parts_of_different_files_only_where_there_are_more_files(
    tmp_path: Path, files: int, parallelism: int
) -> None:
    from millrace.testing.connectors.runtime import EnumeratorContext

    for number in range(files):
        with open(tmp_path / f"file-{number}", "wb") as file:
            file.truncate(40 << 20)
    source = FileSource.for_record_stream_format(StreamFormat.text_line_format(), str(tmp_path)).build()
    context = EnumeratorContext(parallelism, Clock())
    enumerator = source.create_enumerator(context)
    enumerator.start()
    for request in range(3 * files):
        enumerator.handle_split_request(request % parallelism)
    splits = [split for assigned in context.assigned.values() for split in assigned]
    assert sum(split.length for split in splits) == files * (40 << 20)
    if files > parallelism:
        assert all(split.whole for split in splits)
    else:
        assert all(len(assigned) == 1 for assigned in context.assigned.values())
        assert len(splits) == files * (parallelism // files)


def test_types_and_names() -> None:
    assert ReexportedFileSource is FileSource
    assert text_source("/x").get_produced_type() == Types.STRING()
    assert repr(text_source("/x")) == "FileSource(/x)"
