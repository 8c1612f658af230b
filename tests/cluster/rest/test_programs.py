"""Uploaded programs: over the API, and the folder that keeps them."""

from __future__ import annotations

import io
import os
import stat
import zipfile
from pathlib import Path

import pytest
from tests.cluster.rest.client import Client, sample_holder
from tests.cluster.rest.samples import SamplePrograms, job_id

from millrace.cluster.control import Launch
from millrace.cluster.processes.server import ProgramFolder
from millrace.cluster.rest.app import make_app
from millrace.cluster.rest.settings import RestSettings


class Store(ProgramFolder):
    """A folder with programs that are planned and run as samples are."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.sample = SamplePrograms()
        self.plan = self.sample.plan
        self.run = self.sample.run


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "programs")


@pytest.fixture
def client(store: Store) -> Client:
    return Client(make_app(sample_holder(), store, RestSettings()))


def upload(client: Client, name: str = "job.py", content: bytes = b"print(1)") -> str:
    response = client.post("/jars/upload", files={"jarfile": (name, content)})
    assert response.status_code == 200, response.text
    assert response.json()["status"] == "success"
    return response.json()["filename"].rpartition("/")[2]


def archive(*names: str) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as opened:
        for name in names:
            opened.writestr(name, "print(1)")
    return file.getvalue()


def test_upload_list_delete(client: Client, store: Store, tmp_path: Path) -> None:
    id = upload(client)
    [file] = client.get("/jars").json()["files"]
    assert (file["id"], file["name"], file["entry"]) == (id, "job.py", [{"name": "job.py", "description": None}])
    assert client.get("/jars").json()["address"] == "http://localhost:8081"
    [path] = (tmp_path / "programs").iterdir()
    assert path.read_bytes() == b"print(1)" and stat.S_IMODE(path.stat().st_mode) == 0o600
    assert client.call("DELETE", f"/jars/{id}").json() == {}
    assert client.get("/jars").json()["files"] == []
    assert client.call("DELETE", f"/jars/{id}").status_code == 400


def test_archives_say_what_is_run(client: Client) -> None:
    upload(client, "a.zip", archive("__main__.py", "help.py"))
    upload(client, "b.zip", archive("help.py"))
    entries = {each["name"]: each["entry"] for each in client.get("/jars").json()["files"]}
    assert entries == {"a.zip": [{"name": "__main__", "description": None}], "b.zip": []}


def test_running_with_a_body(client: Client, store: Store) -> None:
    id = upload(client)
    body = {
        "programArgsList": ["--input", "a,b"], "parallelism": 3, "jobId": job_id(50).upper(), "savepointPath": "/s/1",
        "allowNonRestoredState": True, "claimMode": "CLAIM", "flinkConfiguration": {"a": "b"}, "entryClass": "main",
    }  # fmt: skip
    response = client.post(f"/jars/{id}/run?parallelism=9&programArg=ignored", json=body)
    assert response.json() == {"applicationId": job_id(50), "jobid": job_id(50)}
    assert store.sample.launches == [
        Launch(id, ("--input", "a,b"), "main", 3, job_id(50), "/s/1", True, "CLAIM", {"a": "b"})
    ]


def test_running_with_a_query(client: Client, store: Store) -> None:
    id = upload(client)
    query = "programArg=--x,1&entry-class=main&parallelism=2&allowNonRestoredState=true&savepointPath=/s/1"
    assert client.post(f"/jars/{id}/run?{query}").status_code == 200
    assert store.sample.launches == [Launch(id, ("--x", "1"), "main", 2, None, "/s/1", True)]


def test_running_in_the_cluster(client: Client, store: Store) -> None:
    id = upload(client)
    response = client.post(f"/jars/{id}/run-application", json={"applicationId": job_id(51)})
    assert (response.status_code, response.json()) == (202, {"applicationid": job_id(51)})
    assert store.sample.launches[0].job_id == job_id(51)


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_plans(client: Client, store: Store, method: str) -> None:
    id = upload(client)
    plan = client.call(method, f"/jars/{id}/plan?parallelism=2").json()["plan"]
    assert len(plan["nodes"]) == 3
    assert store.sample.launches == [Launch(id, parallelism=2)]


def test_what_the_program_says_when_it_fails(client: Client) -> None:
    response = client.post(f"/jars/{upload(client)}/run", json={"programArgsList": ["fail"]})
    assert response.status_code == 400 and "job.py, line 3: no such input" in response.json()["errors"][0]
    response = client.post(f"/jars/{upload(client)}/run", json={"parallelism": 0})
    assert response.status_code == 400 and "Parallelism must be at least one" in response.json()["errors"][0]


def test_without_a_store_there_are_no_such_routes() -> None:
    client = Client(make_app(sample_holder(), None, RestSettings()))
    assert client.get("/jars").json() == {"errors": ["Unable to load requested file /jars."]}
    assert client.post("/jars/upload").json() == {"errors": ["Not found: /jars/upload"]}
    assert client.get("/config").json()["features"]["web-submit"] is False


@pytest.mark.parametrize(
    "name", ["../../evil.py", "..\\..\\evil.py", "/etc/evil.py", "C:\\evil.py", "a/../../../evil.py"]
)
def test_hostile_names_lose_their_way(client: Client, store: Store, tmp_path: Path, name: str) -> None:
    id = upload(client, name)
    assert id.endswith("_evil.py")
    assert [each.name for each in (tmp_path / "programs").iterdir()] == [id]
    assert [each.name for each in tmp_path.iterdir()] == ["programs"]


@pytest.mark.parametrize(
    "name",
    ["", ".py", "..py", ".evil.py", "evil.jar", "evil.py\0", "evil\n.py", "-evil.py", "$(rm).py", "evil.py ;x",
             "a" * 300 + ".py"],
)  # fmt: skip
def test_other_names_are_refused(store: Store, tmp_path: Path, name: str) -> None:
    with pytest.raises(ValueError, match=r"allowed|begins"):
        store.upload(name, io.BytesIO(b""))
    assert [*(tmp_path / "programs").iterdir()] == []


def test_what_is_no_archive_is_refused(client: Client) -> None:
    response = client.post("/jars/upload", files={"jarfile": ("a.zip", b"not one")})
    assert response.status_code == 400 and "a.zip is not a zip archive." in response.json()["errors"][0]


def test_exactly_one_file(client: Client) -> None:
    two = [("jarfile", ("a.py", b"")), ("jarfile", ("b.py", b""))]
    assert "received 2" in client.post("/jars/upload", files=two).json()["errors"][0]
    three = [*two, ("jarfile", ("c.py", b""))]
    assert client.post("/jars/upload", files=three).status_code == 400
    for content in (b"", b"--x\r\n", b"--x\r\nContent-Disposition: nonsense\r\n\r\nx\r\n"):
        headers = {"Content-Type": "multipart/form-data; boundary=x"}
        assert client.post("/jars/upload", content=content, headers=headers).status_code == 400
    assert client.post("/jars/upload", headers={"Content-Type": "multipart/form-data"}).status_code == 400


@pytest.mark.parametrize(
    "id", ["..", "../secret.py", "%2e%2e%2fsecret.py", "..%2fsecret.py", "%2fetc%2fpasswd", "x%00", "%5c..%5csecret.py"]
)
@pytest.mark.parametrize(("method", "rest"), [("DELETE", ""), ("POST", "/run"), ("GET", "/plan")])
def test_ids_lead_nowhere_else(client: Client, tmp_path: Path, id: str, method: str, rest: str) -> None:
    secret = tmp_path / "secret.py"
    secret.write_text("print('geheim')")
    response = client.call(method, f"/jars/{id}{rest}")
    assert response.status_code in (400, 404, 500) and "geheim" not in response.text
    assert secret.exists()


def test_links_are_no_programs(client: Client, store: Store, tmp_path: Path) -> None:
    id = upload(client)
    secret = tmp_path / "secret.py"
    secret.write_text("print('geheim')")
    linked = id.replace("job.py", "link.py")
    os.symlink(secret, tmp_path / "programs" / linked)
    assert [each["id"] for each in client.get("/jars").json()["files"]] == [id]
    assert store.path(linked) is None and not store.delete(linked) and secret.exists()
    assert client.post(f"/jars/{linked}/run").status_code == 500
