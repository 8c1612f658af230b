"""What functions need beyond the program reaches the workers: files, archives, packages, an interpreter."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
import uuid
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.spark.conftest import MakeEnvironment

from millrace.datastream import StreamExecutionEnvironment
from millrace.datastream.functions import MapFunction, RuntimeContext
from millrace.spark.jobs import submit
from millrace.spark.workers.provision import RequirementsError


@pytest.fixture(params=["workers here", "workers elsewhere"])
def anywhere(
    request: pytest.FixtureRequest, environment: MakeEnvironment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[[], StreamExecutionEnvironment]:
    """Makes environments; the second one's ship everything through Spark, as to a cluster."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(sys, "path", list(sys.path))
    if request.param == "workers here":
        return lambda: environment(1)
    find = submit.workplace
    monkeypatch.setattr(submit, "workplace", lambda *args: replace(find(*args), local=False))
    return lambda: environment(1, **{"millrace.state.directory": tmp_path / "state"})


@pytest.fixture
def env(anywhere: Callable[[], StreamExecutionEnvironment]) -> StreamExecutionEnvironment:
    return anywhere()


@pytest.fixture
def unique() -> str:
    """A name for modules: workers that live on know those of earlier tests."""
    return f"dep_{uuid.uuid4().hex}"


def results(env: StreamExecutionEnvironment, function: Any) -> list[Any]:
    return list(env.from_collection([1]).map(function).execute_and_collect())


def wheel(folder: Path, name: str, version: str) -> Path:
    """A wheel with one module that has one constant: what pip needs to install it."""
    path = folder / f"{name}-{version}-py3-none-any.whl"
    info = f"{name}-{version}.dist-info"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(f"{name}.py", f"VERSION = {version!r}\n")
        archive.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{info}/RECORD", "")
    return path


def test_python_files(env: StreamExecutionEnvironment, tmp_path: Path, unique: str) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "one" / f"{unique}.py").write_text("VALUE = 1")
    (tmp_path / "two" / f"{unique}_2").mkdir(parents=True)
    (tmp_path / "two" / f"{unique}_2" / "__init__.py").write_text("")
    (tmp_path / "two" / f"{unique}_2" / "data.txt").write_text("two")
    env.add_python_file(str(tmp_path / "one" / f"{unique}.py"))
    env.add_python_file(str(tmp_path / "two"))
    env.add_python_file(str(wheel(tmp_path, f"{unique}_3", "3.0")))

    def use(value: int) -> Any:
        module, package, packed = (importlib.import_module(unique + end) for end in ("", "_2", "_3"))
        return module.VALUE, Path(package.__file__ or "").with_name("data.txt").read_text(), packed.VERSION

    assert results(env, use) == [(1, "two", "3.0")]


def test_archives_are_in_the_working_directory(
    anywhere: Callable[[], StreamExecutionEnvironment], tmp_path: Path
) -> None:
    env = anywhere()
    with zipfile.ZipFile(tmp_path / "models.zip", "w") as archive:
        archive.writestr("deep/model.txt", "42")
    env.add_python_archive(str(tmp_path / "models.zip"))
    env.add_python_archive(str(tmp_path / "models.zip"), "mine/models")

    def use(value: int) -> Any:
        with open("models.zip/deep/model.txt") as one, open("mine/models/deep/model.txt") as two:
            return one.read(), two.read()

    assert results(env, use) == [("42", "42")]

    assert results(anywhere(), lambda value: os.getcwd()) == [str(Path.cwd())], "the next job is back home"


class ReadsCachedFiles(MapFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.cache = runtime_context.get_distributed_cache()

    def map(self, value: int) -> Any:
        folder = Path(self.cache.get_file("folder"))
        return Path(self.cache.get_file("file")).read_text(), sorted(entry.name for entry in folder.iterdir())


def test_cached_files(env: StreamExecutionEnvironment, tmp_path: Path) -> None:
    (tmp_path / "table.txt").write_text("a,b")
    (tmp_path / "folder").mkdir()
    for name in ("x.bin", "y.bin"):
        (tmp_path / "folder" / name).write_text(name)
    env.register_cached_file(str(tmp_path / "table.txt"), "file")
    env.register_cached_file(f"file://{tmp_path}/folder", "folder")
    assert results(env, ReadsCachedFiles()) == [("a,b", ["x.bin", "y.bin"])]


def test_an_executable_file(env: StreamExecutionEnvironment, tmp_path: Path) -> None:
    (tmp_path / "double.sh").write_text("#!/bin/sh\necho $(($1 * 2))\n")
    (tmp_path / "double.sh").chmod(0o644)
    env.register_cached_file(str(tmp_path / "double.sh"), "double", executable=True)

    class Doubles(MapFunction):
        def open(self, runtime_context: RuntimeContext) -> None:
            self.program = runtime_context.get_distributed_cache().get_file("double")

        def map(self, value: int) -> int:
            return int(subprocess.run([self.program, "21"], capture_output=True, text=True, check=True).stdout)

    assert results(env, Doubles()) == [42]


def test_a_file_that_changed_between_two_jobs_is_read_anew(env: StreamExecutionEnvironment, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "table.txt").write_text("old")
    env.register_cached_file(str(tmp_path / "folder"), "folder")
    env.register_cached_file(str(tmp_path / "table.txt"), "file")
    assert results(env, ReadsCachedFiles()) == [("old", [])]
    (tmp_path / "table.txt").write_text("newer")
    assert results(env, ReadsCachedFiles()) == [("newer", [])]


def test_requirements_are_installed_from_a_folder(env: StreamExecutionEnvironment, tmp_path: Path, unique: str) -> None:
    (tmp_path / "packages").mkdir()
    wheel(tmp_path / "packages", unique, "1.5")
    (tmp_path / "requirements.txt").write_text(f"{unique}==1.5\n")
    env.set_python_requirements(str(tmp_path / "requirements.txt"), str(tmp_path / "packages"))
    assert results(env, lambda value: importlib.import_module(unique).VERSION) == ["1.5"]


def test_what_pip_says_is_shown(environment: MakeEnvironment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "packages").mkdir()
    (tmp_path / "requirements.txt").write_text("no_such_package==7\n")
    env = environment(1)
    env.set_python_requirements(str(tmp_path / "requirements.txt"), str(tmp_path / "packages"))
    env.from_collection([1]).print()
    with pytest.raises(RequirementsError, match=r"(?s)set_python_requirements\(\) at .*pip can't.*no_such_package==7"):
        env.execute()
    assert not list((tmp_path / "cache" / "millrace" / "requirements").iterdir()), "nothing half-made stays"


def interpreter(path: Path, mark: str) -> Path:
    """This Python, in a process that can be told apart."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f'#!/bin/sh\nexport WHICH_PYTHON={mark}\nexec {sys.executable} "$@"\n')
    path.chmod(0o755)
    return path


def which(value: int) -> str | None:
    return os.environ.get("WHICH_PYTHON")


def test_the_interpreter_is_the_jobs_own(environment: MakeEnvironment, tmp_path: Path) -> None:
    env = environment(1)
    env.set_python_executable(str(interpreter(tmp_path / "python-of-the-job", "mine")))
    assert results(env, which) == ["mine"]
    assert results(environment(1), which) == [None]


def test_an_interpreter_in_an_archive(environment: MakeEnvironment, tmp_path: Path) -> None:
    script = interpreter(tmp_path / "venv" / "bin" / "python", "packed")
    with zipfile.ZipFile(tmp_path / "venv.zip", "w") as archive:
        archive.write(script, "bin/python")
    env = environment(1)
    env.add_python_archive(str(tmp_path / "venv.zip"), "venv")
    env.set_python_executable("venv/bin/python")
    assert results(env, which) == ["packed"]


def test_an_interpreter_that_is_not_there(environment: MakeEnvironment) -> None:
    env = environment(1)
    env.set_python_executable("/no/such/python")
    env.from_collection([1]).print()
    with pytest.raises(FileNotFoundError, match="no such Python for the workers: /no/such/python"):
        env.execute()
