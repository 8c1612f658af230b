"""What is handed to Spark for the workers of a cluster, and how archives are unpacked: without Spark itself."""

from __future__ import annotations

import os
import sys
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import pytest

from millrace.spark.archives import unpack
from millrace.spark.workers.shipping import SPARK, Shipping, WorkerSurroundings, locate


class Context:
    """Remembers what a ``SparkContext`` was given."""

    def __init__(self, application: str) -> None:
        self.applicationId = application
        self.files: list[str] = []
        self.archives: list[str] = []

    def addFile(self, path: str) -> None:
        self.files.append(path)

    def addArchive(self, path: str) -> None:
        self.archives.append(path)


@pytest.fixture
def context(request: pytest.FixtureRequest) -> Any:
    return Context(request.node.nodeid)


def test_workers_here_find_files_where_they_are(context: Any, tmp_path: Path) -> None:
    shipping = Shipping(context, local=True)
    (tmp_path / "lib.py").write_text("")
    assert shipping.python_file(str(tmp_path / "lib.py")) == str(tmp_path)
    assert shipping.python_file(str(tmp_path)) == str(tmp_path)
    assert shipping.file(str(tmp_path / "lib.py")) == str(tmp_path / "lib.py")
    assert shipping.folder(str(tmp_path)) == str(tmp_path)
    assert context.files == context.archives == []


def test_two_files_of_one_name_do_not_meet(context: Any, tmp_path: Path) -> None:
    shipping = Shipping(context, local=False)
    for name, text in (("a", "1"), ("b", "2")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "data.txt").write_text(text)
    locations = [shipping.file(str(tmp_path / name / "data.txt")) for name in ("a", "b", "a")]
    assert len(set(locations)) == 2 and locations[0] == locations[2]
    assert len(context.files) == 2, "what is there already is not added again"
    for location, file, text in zip(locations, context.files, "12"):
        assert location == SPARK + os.path.basename(file)
        assert location.endswith("-data.txt")
        assert Path(file).read_text() == text


def test_a_changed_file_and_another_session_are_new(context: Any, tmp_path: Path) -> None:
    (tmp_path / "data.txt").write_text("1")
    first = Shipping(context, local=False).file(str(tmp_path / "data.txt"))
    other = Context("another")
    assert Shipping(other, local=False).file(str(tmp_path / "data.txt")) == first  # type: ignore[arg-type]
    assert len(other.files) == 1
    (tmp_path / "data.txt").write_text("22")
    assert Shipping(context, local=False).file(str(tmp_path / "data.txt")) != first


def test_a_module_travels_in_a_zip_file(context: Any, tmp_path: Path) -> None:
    (tmp_path / "lib.py").write_text("A = 1")
    (tmp_path / "other.py").write_text("")
    location = Shipping(context, local=False).python_file(str(tmp_path / "lib.py"))
    assert location == SPARK + os.path.basename(context.files[0])
    assert zipfile.ZipFile(context.files[0]).namelist() == ["lib.py"]


def test_a_folder_travels_whole(context: Any, tmp_path: Path) -> None:
    (tmp_path / "package" / "__pycache__").mkdir(parents=True)
    (tmp_path / "package" / "__pycache__" / "m.pyc").write_text("")
    (tmp_path / "package" / "data.bin").write_text("x")
    (tmp_path / "run.sh").write_text("")
    (tmp_path / "run.sh").chmod(0o755)
    location = Shipping(context, local=False).folder(str(tmp_path))
    (added,) = context.archives
    packed, _, target = added.partition("#")
    assert location == SPARK + target
    with tarfile.open(packed) as archive:
        names = {os.path.normpath(name) for name in archive.getnames()}
        assert names == {".", "package", "package/data.bin", "run.sh"}
        assert archive.getmember("./run.sh").mode & 0o100


def test_a_uri_is_left_to_spark(context: Any) -> None:
    assert Shipping(context, local=True).file("hdfs://host/dir/model.bin") == f"{SPARK}model.bin"
    assert context.files == ["hdfs://host/dir/model.bin"]


def test_paths_are_located_as_they_are() -> None:
    assert locate("/some/where") == "/some/where"


def test_unpacking_keeps_permissions_and_links(tmp_path: Path) -> None:
    source = tmp_path / "source"
    (source / "bin").mkdir(parents=True)
    (source / "bin" / "python3").write_text("#!")
    (source / "bin" / "python3").chmod(0o755)
    (source / "bin" / "python").symlink_to("python3")
    with tarfile.open(tmp_path / "a.tar.gz", "w:gz") as tar:
        tar.add(source, arcname=".")
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.write(source / "bin" / "python3", "bin/python3")
        link = zipfile.ZipInfo("bin/python")
        link.create_system, link.external_attr = 3, 0o120777 << 16
        archive.writestr(link, "python3")
    for name in ("a.tar.gz", "a.zip"):
        folder = tmp_path / f"{name}-unpacked"
        unpack(str(tmp_path / name), str(folder))
        assert os.access(folder / "bin" / "python3", os.X_OK), name
        assert os.readlink(folder / "bin" / "python") == "python3", name


def test_an_empty_archive_and_one_that_is_none(tmp_path: Path) -> None:
    zipfile.ZipFile(tmp_path / "empty.zip", "w").close()
    unpack(str(tmp_path / "empty.zip"), str(tmp_path / "empty"))
    assert list((tmp_path / "empty").iterdir()) == []
    (tmp_path / "text.zip").write_text("nothing of the kind")
    with pytest.raises(ValueError, match="neither a zip nor a tar file"):
        unpack(str(tmp_path / "text.zip"), str(tmp_path / "text"))


def test_variables_that_pyflinks_workers_have(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("python", "_PYTHON_WORKER_MEMORY_LIMIT", "TABLE_LOCAL_TIME_ZONE", "_PYTHON_REQUIREMENTS_INSTALL_DIR"):
        monkeypatch.setenv(name, "before")  # and as it was afterwards
    monkeypatch.setenv("PYSPARK_EXECUTOR_MEMORY_MB", "10")
    WorkerSurroundings(packages="/some/packages", zone="Asia/Tokyo").enter("one")
    assert os.environ["python"] == sys.executable  # noqa: SIM112
    assert os.environ["_PYTHON_WORKER_MEMORY_LIMIT"] == str(10 << 20)
    assert os.environ["_PYTHON_REQUIREMENTS_INSTALL_DIR"] == "/some/packages"
    assert os.environ["TABLE_LOCAL_TIME_ZONE"] == "Asia/Tokyo"
    WorkerSurroundings(zone="UTC").enter("two")
    assert os.environ["TABLE_LOCAL_TIME_ZONE"] == "UTC"
    assert "_PYTHON_REQUIREMENTS_INSTALL_DIR" not in os.environ
