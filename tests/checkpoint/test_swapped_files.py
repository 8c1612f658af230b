"""State files of which one has been put in the place of another, or that are damaged: each is noticed, and named."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest
from tests.checkpoint.jobs import SavedJob, collecting

from millrace.checkpoint import state_files
from millrace.checkpoint.folder import CorruptFileError
from millrace.checkpoint.metadata import read_metadata
from millrace.common import Types
from millrace.datastream import DataStream, KeyedProcessFunction, StreamExecutionEnvironment
from millrace.datastream.state import ValueStateDescriptor
from millrace.runtime.failure import JobFailedError

EPOCHS = 4


class Last(KeyedProcessFunction):
    """Keeps numbers of the same length, so that files of all epochs and tasks have the same size."""

    def open(self, runtime_context: Any) -> None:
        self.last = runtime_context.get_state(ValueStateDescriptor("last", Types.LONG()))

    def process_element(self, value: int, ctx: Any) -> Iterable[Any]:
        yield value, self.last.value()
        self.last.update(value)


def build(env: StreamExecutionEnvironment) -> DataStream:
    values = env.from_sequence(1_000, 1_999).uid("values").set_parallelism(1)
    first = values.key_by(lambda value: value % 4).process(Last()).uid("first")
    return first.key_by(lambda pair: pair[0] % 4).map(lambda pair: pair).uid("second")


def job(parallelism: int = 2) -> Any:
    return collecting(build, parallelism, epoch_records=8)


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> tuple[SavedJob, str, Path]:
    """A job, its last checkpoint, and a savepoint of the same moment."""
    directory = tmp_path_factory.mktemp("first")
    saved = SavedJob(job(), directory, 1)
    for _ in range(EPOCHS - 1):
        saved.epoch()
    checkpoint = saved.epoch(directory / "savepoint-1").checkpoint
    assert checkpoint is not None
    return saved, checkpoint, directory / "savepoint-1"


def files_of(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.suffix in (".delta", ".full", ".parquet"))


def restored(path: Path, tmp_path: Path, parallelism: int) -> None:
    second = SavedJob(job(parallelism), tmp_path / "second")
    second.restore(str(path))
    second.epoch()


def noticed(path: Path, run: Callable[[], None]) -> None:
    with pytest.raises((CorruptFileError, JobFailedError)) as raised:
        run()
    assert path.name in str(raised.value) and "corrupt" in str(raised.value)


@pytest.mark.parametrize("parallelism", [2, 3])
def test_each_copy_of_a_state_file_over_another_is_noticed(
    first: tuple[SavedJob, str, Path], tmp_path: Path, parallelism: int
) -> None:
    saved, checkpoint, _ = first
    home = Path(checkpoint).parent
    needed = read_metadata(saved.directory.folder.child(Path(checkpoint).name))
    files = [path.relative_to(home) for path in files_of(home / "shared")]
    same_size = 0
    assert len(files) >= 2 * EPOCHS and needed.tasks
    for number, (target, source) in enumerate(permutations(files, 2)):
        place = tmp_path / str(number)
        shutil.copytree(home, place)
        same_size += (place / target).stat().st_size == (place / source).stat().st_size
        shutil.copy(place / source, place / target)
        noticed(target, lambda at=place: restored(at / Path(checkpoint).name, at, parallelism))  # type: ignore[misc]
        shutil.rmtree(place)
    assert same_size, "those are the ones that their sizes do not tell apart"


@pytest.mark.parametrize("parallelism", [2, 3])
def test_and_each_copy_in_a_savepoint(
    first: tuple[SavedJob, str, Path], tmp_path: Path, parallelism: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(state_files, "ROWS_TOGETHER", 1)
    _, _, savepoint = first
    files = [path.relative_to(savepoint) for path in files_of(savepoint)]
    for number, (target, source) in enumerate(permutations(files, 2)):
        place = tmp_path / str(number)
        shutil.copytree(savepoint, place / "s")
        shutil.copy(place / "s" / source, place / "s" / target)
        noticed(target, lambda at=place: restored(at / "s", at, parallelism))  # type: ignore[misc]


def flipped(content: bytes, place: int) -> bytes:
    return content[:place] + bytes([content[place] ^ 0x10]) + content[place + 1 :]


@pytest.mark.parametrize("kind", ["checkpoint", "savepoint"])
def test_flips_cuts_and_zeros_are_noticed(first: tuple[SavedJob, str, Path], tmp_path: Path, kind: str) -> None:
    _, checkpoint, savepoint = first
    of = savepoint if kind == "savepoint" else Path(checkpoint).parent
    name = "" if kind == "savepoint" else Path(checkpoint).name
    for number, path in enumerate(files_of(of)[:6]):
        content = path.read_bytes()
        damages = [
            *(flipped(content, place) for place in range(8, len(content), max(1, len(content) // 5))),
            content[:-3], content[: len(content) // 2], bytes(len(content)), content + b"x", b"",
        ]  # fmt: skip
        for turn, damage in enumerate(damages):
            place = tmp_path / f"{number}-{turn}"
            shutil.copytree(of, place)
            (place / path.relative_to(of)).write_bytes(damage)
            noticed(path, lambda at=place: restored(at / name, at, 2))  # type: ignore[misc]


def test_a_job_that_goes_on_notices_it_too(tmp_path: Path) -> None:
    """Its tasks read their files by themselves."""
    saved = SavedJob(job(), tmp_path, 1)
    for _ in range(EPOCHS):
        saved.epoch()
    files = files_of(Path(saved.directory.shared.uri))
    pairs = [(target, source) for target, source in permutations(files, 2) if _size(target) == _size(source)]
    contents = {path: path.read_bytes() for path in files}
    assert pairs
    for target, source in pairs:
        target.write_bytes(contents[source])
        again = SavedJob(saved.job, tmp_path, 1)
        again.go_on()
        with pytest.raises(JobFailedError, match=rf"{target.name} is corrupt: another file is in its place"):
            again.epoch()
        target.write_bytes(contents[target])


def _size(path: Path) -> int:
    return path.stat().st_size


def test_metadata_of_another_checkpoint_is_noticed(tmp_path: Path) -> None:
    saved = SavedJob(job(), tmp_path, 1)
    checkpoints = [Path(saved.epoch().checkpoint or "") for _ in range(2)]
    shutil.copy(checkpoints[0] / "_metadata", checkpoints[1] / "_metadata")
    with pytest.raises(CorruptFileError, match="that of checkpoint 1"):
        SavedJob(job(), tmp_path / "second").restore(str(checkpoints[1]))


def test_metadata_names_checksum_and_size_of_each_file(first: tuple[SavedJob, str, Path]) -> None:
    saved, checkpoint, savepoint = first
    tasks = read_metadata(saved.directory.folder.child(Path(checkpoint).name)).tasks
    versions = [version for files in tasks.values() for version in files.since()]
    assert versions and all(size > 0 and checksum is not None for _, size, checksum in versions)
    from millrace.checkpoint.folder import open_folder

    operators = read_metadata(open_folder(str(savepoint))).saved.values()
    files = [file for operator in operators for file in operator.files]
    assert files and all(file.size and file.checksum and file.footer for file in files)
