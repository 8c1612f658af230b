"""What an environment is told of the workers' needs, through its methods and through Flink's configuration keys."""

from __future__ import annotations

import importlib
import sys
import uuid
from pathlib import Path

import pytest

from millrace.common import Configuration
from millrace.datastream import StreamExecutionEnvironment
from millrace.datastream.functions import MapFunction, RuntimeContext
from millrace.datastream.job_settings import Archive, CachedFile, Dependencies, import_path
from millrace.runtime.coordination.coordinator import JobFailedError
from millrace.testing import OperatorHarness, run_locally


@pytest.fixture
def env(monkeypatch: pytest.MonkeyPatch) -> StreamExecutionEnvironment:
    monkeypatch.setattr(sys, "path", list(sys.path))
    return StreamExecutionEnvironment().set_parallelism(1)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with some files, which is also the current one."""
    for name in ("lib.py", "data.zip", "requirements.txt", "table.csv"):
        (tmp_path / name).write_text("")
    (tmp_path / "packages").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_methods_and_keys_mean_the_same(env: StreamExecutionEnvironment, folder: Path) -> None:
    env.add_python_file("lib.py")
    env.add_python_file(f"file://{folder}/packages")
    env.add_python_archive("data.zip")
    env.add_python_archive(str(folder / "data.zip"), "deep/data")
    env.set_python_requirements("requirements.txt", "packages")
    env.set_python_executable("deep/data/bin/python")

    configuration = Configuration()
    configuration.set_string("python.files", f"lib.py,file://{folder}/packages")
    configuration.set_string("python.archives", f"data.zip,{folder}/data.zip#deep/data")
    configuration.set_string("python.requirements", "requirements.txt#packages")
    configuration.set_string("python.executable", "deep/data/bin/python")
    other = StreamExecutionEnvironment(configuration)._dependencies
    later = StreamExecutionEnvironment()
    later.configure(configuration)

    for needs in (env._dependencies, other, later._dependencies):
        assert needs.files == (f"{folder}/lib.py", f"{folder}/packages")
        assert needs.archives == (
            Archive(f"{folder}/data.zip", "data.zip"),
            Archive(f"{folder}/data.zip", "deep/data"),
        )
        assert needs.requirements is not None
        assert (needs.requirements.path, needs.requirements.packages) == (
            f"{folder}/requirements.txt",
            f"{folder}/packages",
        )
        assert needs.executable == "deep/data/bin/python"


def test_what_is_missing_shows_at_once(env: StreamExecutionEnvironment, folder: Path) -> None:
    for call in (env.add_python_file, env.add_python_archive, env.set_python_requirements):
        with pytest.raises(FileNotFoundError, match=rf"{call.__name__}\(\) at .*{Path(__file__).name}.*file: /none"):
            call("/none")
    with pytest.raises(FileNotFoundError, match=r"register_cached_file\(\) at .*: no such file: file:///none"):
        env.register_cached_file("file:///none", "x")
    with pytest.raises(FileNotFoundError, match="no such file: /none"):
        env.set_python_requirements("requirements.txt", "/none")
    assert env._dependencies == Dependencies()


@pytest.mark.parametrize("target", ["/etc", "../up", "."])
def test_an_archive_stays_in_the_working_directory(env: StreamExecutionEnvironment, folder: Path, target: str) -> None:
    with pytest.raises(ValueError, match="must be a relative path"):
        env.add_python_archive("data.zip", target)


def test_two_archives_need_two_targets(env: StreamExecutionEnvironment, folder: Path) -> None:
    env.add_python_archive("data.zip", "data")
    env.add_python_archive("data.zip", "data")
    assert len(env._dependencies.archives) == 1
    with pytest.raises(ValueError, match=r"data\.zip is unpacked into 'data' already"):
        env.add_python_archive("table.csv", "data")


def test_the_program_can_import_a_python_file_too(env: StreamExecutionEnvironment, tmp_path: Path) -> None:
    name = f"dep_{uuid.uuid4().hex}"
    (tmp_path / f"{name}.py").write_text("VALUE = 7")
    env.add_python_file(str(tmp_path / f"{name}.py"))
    assert importlib.import_module(name).VALUE == 7
    assert import_path("/a/b.py") == "/a"
    assert import_path("/a/b.zip") == "/a/b.zip"


class Reads(MapFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.text = Path(runtime_context.get_distributed_cache().get_file("table")).read_text()

    def map(self, value: int) -> str:
        return self.text * value


def test_a_cached_file_without_spark_is_the_file_itself(env: StreamExecutionEnvironment, folder: Path) -> None:
    (folder / "table.csv").write_text("ab")
    env.register_cached_file("table.csv", "table")
    assert run_locally(env.from_collection([1, 2]).map(Reads())).collected == ["ab", "abab"]
    with OperatorHarness.for_function(Reads(), cached_files={"table": str(folder / "table.csv")}) as harness:
        harness.process_element(1)
        assert harness.values == ["ab"]
        with harness.restored() as other:
            other.process_element(1)
            assert other.values == ["ab"]


def test_a_cached_file_that_nobody_registered(env: StreamExecutionEnvironment, folder: Path) -> None:
    env.register_cached_file("lib.py", "library")
    with pytest.raises(JobFailedError, match=r"no cached file 'table'.*there are: library"):
        run_locally(env.from_collection([1]).map(Reads()))


def test_cached_files_of_the_configuration(env: StreamExecutionEnvironment, folder: Path) -> None:
    files = f"name:table,path:{folder}/table.csv;name:library,path:lib.py,executable:true"
    env.configure(Configuration().set_string("pipeline.cached-files", files))
    assert env._dependencies.cached_files == (
        CachedFile("table", str(folder / "table.csv"), False),
        CachedFile("library", str(folder / "lib.py"), True),
    )
    with pytest.raises(ValueError, match=r"^pipeline.cached-files: expected is name:NAME,path:PATH with ; "):
        env.configure(Configuration().set_string("pipeline.cached-files", "name:table"))


def test_names_of_cached_files(env: StreamExecutionEnvironment, folder: Path) -> None:
    env.register_cached_file("lib.py", "library", executable=True)
    env.register_cached_file("lib.py", "library", True)
    env.register_cached_file("hdfs://host:9000/model.bin", "model")
    assert env._dependencies.cached_files == (
        CachedFile("library", f"{folder}/lib.py", True),
        CachedFile("model", "hdfs://host:9000/model.bin", False),
    )
    with pytest.raises(ValueError, match=r"the name 'library' means .*lib\.py already"):
        env.register_cached_file("table.csv", "library")
