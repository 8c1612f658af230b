"""A file of a checkpoint or savepoint is lost or damaged: the job must say which, or not need it."""

from __future__ import annotations

from tests.simulation.faults import DriverDied, UserError
from tests.simulation.world import World

from millrace.checkpoint.directory import UNUSABLE

HOW = ("is lost", "is cut short", "has a wrong byte")
WHEN = ("the driver died", "the job failed", "the job was stopped with a savepoint")


class Named(BaseException):
    """The job has said which file is of no use: a good end."""


class DamagedWorld(World):
    """Nothing else goes wrong here."""

    def __init__(self, seed: int, program: str | None = None) -> None:
        super().__init__(seed, program)
        self.chances.none()
        self.on_disk = False  # a task that finds its state there reads no file, and so does not see the damage
        self.wishes = 0
        self.durable = True
        self.after = self.random.randrange(1, 7)
        """epochs"""
        self.when = self.random.choice(WHEN)
        self.damaged: str | None = None
        self.drivers = 0
        self.epochs = 0

    def wish(self) -> str | None:
        stops = self.when == WHEN[2] and self.epochs == self.after and self.drivers == 1
        return "stop" if stops else None

    def touch(self, where: str, path: str | None = None) -> None:
        super().touch(where, path)
        if path is not None and path.endswith(f"/{UNUSABLE}"):
            # The job goes on from the checkpoint before, and what sinks have committed since then comes twice.
            self.note("the checkpoint is set aside")
            raise Named
        if where == "record the job":
            self.drivers += 1
            if self.drivers == 2:
                self._damage("/savepoint-" if self.when == WHEN[2] else "/")
        elif where == "epoch complete":
            self.epochs += 1
            if self.epochs == self.after and self.when == WHEN[0]:
                self.note("the driver dies")
                raise DriverDied
            if self.epochs == self.after and self.when == WHEN[1]:
                self._damage("/shared/")
                assert self.cluster is not None
                self.cluster.lose_workers()
                raise UserError("the workers lose what they have in memory")

    def _damage(self, part: str) -> None:
        paths = [path for path in self.disk.files if part in path and not path.endswith("/epochs")]
        paths = sorted(path for path in paths if "/orders/" not in path)
        if not paths:
            return
        path, how = self.random.choice(paths), self.random.choice(HOW)
        if how == HOW[0] and path.endswith("/_metadata") and "/chk-" in path:
            return  # without it there is no checkpoint, and nobody knows that there was one
        self.damaged = path
        self.note(f"{self.short(path)} {how}")
        self.promises.forget(path)
        content = self.disk.files.pop(path)
        if how == HOW[1]:
            self.disk.files[path] = content[: self.random.randrange(len(content))]
        elif how == HOW[2]:
            place = self.random.randrange(len(content))
            wrong = bytes([content[place] ^ (1 << self.random.randrange(8))])
            self.disk.files[path] = content[:place] + wrong + content[place + 1 :]

    def check_cause(self, error: BaseException) -> None:
        if isinstance(error, UserError):
            return
        place = None if self.damaged is None else self.damaged.removesuffix("/_metadata")
        if place is not None and place in str(error):
            raise Named
        super().check_cause(error)
