"""What is asked of a cluster while one of its processes dies, and what must be true of it afterwards."""

from __future__ import annotations

import os
import uuid
from pathlib import Path
from typing import Any

import httpx
from tests.cluster.killing.programs import Programs
from tests.cluster.killing.world import OVER, World
from tests.cluster.processes.running import wait_for

from millrace.cluster import job_folder


class Operation:
    """One request. ``prepare`` comes before the kill, ``ask`` meets it, ``check`` comes when all is there again."""

    def __init__(self, world: World, programs: Programs) -> None:
        self.world = world
        self.programs = programs
        self.job: str | None = None
        self.answer: httpx.Response | None = None

    def prepare(self) -> None:
        self.job = self.programs.begin("endless")

    def ask(self) -> None: ...

    def check(self) -> None: ...

    def _answered(self, status: int) -> Any:
        """The body of an answer with this status; None: there was no answer, or an error of the server's."""
        if self.answer is None or self.answer.status_code >= 500:
            return None
        assert self.answer.status_code == status, self.answer.text
        return self.answer.json()

    def _goes_on(self) -> None:
        """The job runs, and ends when that is wanted."""
        assert self.job is not None
        self.world.wait_until(self.job, "RUNNING")
        self.programs.grows(self.job)
        self.programs.cancel(self.job)


class Run(Operation):
    """Run a short program under an id of our own: however often it is asked for, it runs once."""

    def prepare(self) -> None:
        self.job = uuid.uuid4().hex

    def ask(self) -> None:
        assert self.job is not None
        body = {"jobId": self.job, **self.programs.body("short", self.job)}
        self.answer = self.world.ask("POST", f"/jars/{self.programs.uploaded['short']}/run", json=body)

    def check(self) -> None:
        known = self.world.states()
        body = self._answered(200)
        if body is not None:
            assert body["jobid"] == self.job and self.job in known
        assert (self.job in known) == (self.world.place_of(str(self.job)) is not None)
        self.ask()  # as a client does that has not heard the answer
        assert self.answer is not None and self.answer.status_code in (200, 400), self.answer
        self.world.wait_until(str(self.job), *OVER)
        state = self.world.states()[str(self.job)]
        self.programs.ran_once(str(self.job), state)


class Upload(Operation):
    """Upload a program: it is listed as a whole, or not at all."""

    def prepare(self) -> None:
        super().prepare()
        self.name = f"p{uuid.uuid4().hex[:8]}.py"
        self.content = self.programs.text("short") + "\n#" + "x" * 300_000
        self.before = set(self._listed())

    def _listed(self) -> dict[str, str]:
        files = self.world.insist("GET", "/jars").json()["files"]
        return {each["id"]: each["name"] for each in files}

    def ask(self) -> None:
        self.answer = self.world.ask("POST", "/jars/upload", files={"jarfile": (self.name, self.content.encode())})

    def check(self) -> None:
        listed = self._listed()
        assert self.before <= set(listed)
        new = [id for id in listed if id not in self.before]
        body = self._answered(200)
        assert len(new) <= 1
        if body is not None:
            assert [body["filename"].rpartition("/")[2]] == new
        for id in new:
            assert Path(self.world.folder, "programs", id).read_text() == self.content
            assert self.world.insist("DELETE", f"/jars/{id}").status_code == 200
        self._goes_on()


class Delete(Operation):
    """Delete the program of a job that runs: the job goes on, also with another process."""

    def prepare(self) -> None:
        self.id = self.programs.upload("endless")
        self.job = self.programs.begin("endless", self.id)

    def ask(self) -> None:
        self.answer = self.world.ask("DELETE", f"/jars/{self.id}")

    def check(self) -> None:
        listed = {each["id"] for each in self.world.insist("GET", "/jars").json()["files"]}
        if self._answered(200) is not None:
            assert self.id not in listed
        assert (self.id in listed) == Path(self.world.folder, "programs", self.id).exists()
        again = self.world.insist("DELETE", f"/jars/{self.id}").status_code
        assert again == (200 if self.id in listed else 400)
        self._goes_on()


class Cancel(Operation):
    """Cancel a job: what was promised happens."""

    def ask(self) -> None:
        self.answer = self.world.ask("PATCH", f"/jobs/{self.job}")

    def check(self) -> None:
        if self._answered(202) is not None:
            self.world.wait_until(str(self.job), "CANCELED")
        else:
            self.world.wait_until(str(self.job), "CANCELED", "RUNNING")
            self.programs.cancel(str(self.job))


class Triggered(Operation):
    """Something that is begun under an id: that says how it ended, or is not known any more."""

    path = ""
    field = "location"

    def body(self) -> dict[str, Any]:
        return {}

    def ask(self) -> None:
        self.trigger = uuid.uuid4().hex
        body = {**self.body(), "triggerId": self.trigger}
        self.answer = self.world.ask("POST", f"/jobs/{self.job}/{self.path}", json=body)

    @property
    def status_path(self) -> str:
        return f"/jobs/{self.job}/{'savepoints' if self.path == 'stop' else self.path}/{self.trigger}"

    def _outcome(self) -> Any:
        """What became of it, None: nobody knows any more."""

        def over() -> list[httpx.Response]:
            found = self.world.insist("GET", self.status_path)
            body = found.json()
            return [found] if found.status_code == 404 or body["status"]["id"] != "IN_PROGRESS" else []

        found = wait_for(over, f"{self.path} does not stay in progress", self.world.seconds, self.world.logs)[0]
        return None if found.status_code == 404 else found.json()["operation"]

    def check(self) -> None:
        operation = self._outcome()
        if operation is not None:
            failed = {"failure-cause", "failureCause"} & set(operation)
            assert failed or self.field in operation, operation
        self.after(None if operation is None else operation.get(self.field))

    def after(self, result: Any) -> None:
        self._goes_on()


class Savepoint(Triggered):
    """Take a savepoint: it is complete, or it is none."""

    path = "savepoints"

    def body(self) -> dict[str, Any]:
        return {"target-directory": str(self.programs.savepoints / str(self.job))}

    def after(self, result: Any) -> None:
        self.programs.savepoints_are_whole(str(self.job), result)
        super().after(result)


class Stop(Savepoint):
    """Stop with a savepoint: the job has ended with a complete one, or goes on."""

    path = "stop"

    def body(self) -> dict[str, Any]:
        return {"targetDirectory": str(self.programs.savepoints / str(self.job)), "drain": False}

    def after(self, result: Any) -> None:
        self.programs.savepoints_are_whole(str(self.job), result)
        self.world.wait_until(str(self.job), "FINISHED", "RUNNING")
        if self.world.states()[str(self.job)] == "RUNNING":
            self._goes_on()


class Checkpoint(Triggered):
    """Take a checkpoint."""

    path = "checkpoints"
    field = "checkpointId"

    def body(self) -> dict[str, Any]:
        return {"checkpointType": "FULL"}


class Rescale(Operation):
    """Rescale: refused, as by Flink, and nothing changes."""

    def ask(self) -> None:
        self.answer = self.world.ask("PATCH", f"/jobs/{self.job}/rescaling?parallelism=3")

    def check(self) -> None:
        assert self.answer is None or self.answer.status_code == 503, self.answer.text
        self._goes_on()


class Look(Operation):
    """Look at everything again and again."""

    def ask(self) -> None:
        job = f"/jobs/{self.job}"
        for path in ("/jobs/overview", "/overview", job, f"{job}/checkpoints", "/taskmanagers"):
            for _ in range(3):
                found = self.world.ask("GET", path)
                assert found is None or found.status_code == 200, f"{path}: {found.text}"

    def check(self) -> None:
        self._goes_on()


OPERATIONS: dict[str, type[Operation]] = {
    "run": Run,
    "upload": Upload,
    "delete": Delete,
    "cancel": Cancel,
    "savepoint": Savepoint,
    "stop": Stop,
    "checkpoint": Checkpoint,
    "rescale": Rescale,
    "look": Look,
}


def leftovers(world: World) -> list[str]:
    """Files that nobody will ever finish, and what is kept for jobs that are over."""
    found = [
        os.path.join(base, name)
        for base, folders, files in os.walk(world.folder)
        for name in (*folders, *files)
        if name.startswith(".") and "work" not in base
    ]
    for place in (job_folder.SUBMISSIONS, job_folder.JOBS, job_folder.RUNNING):
        found += [os.path.join(place, name) for name in os.listdir(os.path.join(world.folder, place))]
    return found
