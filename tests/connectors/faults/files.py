"""Stores of files that fail."""

from __future__ import annotations

import json
import urllib.request
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.connectors.faults.place import OUTAGES, Place

from millrace.common.files import store_settings
from millrace.testing.connectors.faults import Fault


class _Files(Place):
    """Files of JSON in a folder of a store. The settings of stores are those of the process."""

    connector = "filesystem"

    def known(self, port: int, password: str | None) -> Mapping[str, str]:
        """What the process has to know of the store at this port."""
        raise NotImplementedError

    def base(self, name: str) -> str:
        """The URI of a folder."""
        raise NotImplementedError

    def put_text(self, name: str, file: str, text: str) -> None:
        """Write a file without the code that is tested."""
        raise NotImplementedError

    def texts(self, name: str) -> list[str]:
        """What is in the files that can be seen, asked without the code that is tested."""
        raise NotImplementedError

    def options(self, port: int, name: str, password: str | None) -> dict[str, str]:
        store_settings.take(self.known(port, password))
        return {"path": self.base(name), "format": "json"}

    def make(self, wrong: bool = False) -> str:
        name = f"f-{uuid.uuid4().hex[:10]}"
        if wrong:
            self.put_text(name, "one", '{"id": 1, "name": "no number"}\n')
        return name

    def put(self, name: str, number: int) -> None:
        self.put_text(name, f"file{number}", json.dumps({"id": number, "name": "n"}) + "\n")

    def written(self, name: str) -> list[Any]:
        return [tuple(json.loads(line).values()) for text in self.texts(name) for line in text.splitlines()]

    def outage_the_other_way(self) -> None:
        """Files are read, for as long as new ones may come."""
        with self.cut_off() as (port, server):
            name = self.made()
            self.put(name, 0)  # the folder has to be there
            table = self.table(port, name, None, **{"source.monitor-interval": "100 ms"})
            self.read_on(table, name, server)


class S3Files(_Files):
    name, server, slow = "filesystem: S3", "s3_server", True
    waiting = "`s3.connection.timeout` (60 s), `s3.attempts.maximum` (7, with growing pauses)"

    def meet_it(self, fault: Fault) -> None:
        self._fault = fault
        super().meet_it(fault)

    def known(self, port: int, password: str | None) -> Mapping[str, str]:
        given = {"s3.endpoint": f"http://127.0.0.1:{port}", "s3.path.style.access": "true"}
        right = "none" if self.running is None else self.running.secret_key
        given |= {"s3.access-key": "millrace-access", "s3.secret-key": password or right}
        if self._fault not in OUTAGES:
            given |= {f"s3.connection.{each}": "300 ms" for each in ("timeout", "establish.timeout")}
            given |= {"s3.attempts.maximum": "2"}
        return given

    def base(self, name: str) -> str:
        return f"s3://{'missing' if name == 'missing' else 'mill'}/{name}"

    def put_text(self, name: str, file: str, text: str) -> None:
        folder = Path(self.running.data / "mill" / name)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f".{file}").write_text(text)
        (folder / f".{file}").rename(folder / file)

    def texts(self, name: str) -> list[str]:
        return [path.read_text() for path in (self.running.data / "mill" / name).iterdir() if path.name[0] != "."]


class HdfsFiles(_Files):
    name, server = "filesystem: HDFS", "hdfs_server"
    waiting = "60 s"
    patience = {f"common.files.webhdfs.{each}_SECONDS": 0.5 for each in ("TRY", "ANSWER")}
    reasons = {
        Fault.PASSWORD: "without Kerberos HDFS asks for none",
        Fault.MISSING: "folders are made by the first file that is written",
    }

    @property
    def port(self) -> int:
        return int(self.running.web_port)

    def known(self, port: int, password: str | None) -> Mapping[str, str]:
        return {"flink.hadoop.dfs.namenode.http-address": f"127.0.0.1:{port}"}

    def base(self, name: str) -> str:
        return f"{'hdfs://127.0.0.1:8020' if self.running is None else self.running.url}/{name}"

    def _ask(self, path: str, operation: str, method: str = "GET", content: bytes | None = None) -> bytes:
        at = f"http://127.0.0.1:{self.running.web_port}/webhdfs/v1/{path}?op={operation}&user.name=millrace"
        headers = {"Content-Type": "application/octet-stream"}
        if content is not None:
            asked = urllib.request.Request(f"{at}&noredirect=true", b"", headers, method=method)
            with urllib.request.urlopen(asked, timeout=60) as to:
                at = json.load(to)["Location"]
        with urllib.request.urlopen(urllib.request.Request(at, content, headers, method=method), timeout=60) as answer:
            return bytes(answer.read())

    def put_text(self, name: str, file: str, text: str) -> None:
        self._ask(f"{name}/.{file}", "CREATE", "PUT", text.encode())
        self._ask(f"{name}/.{file}", f"RENAME&destination=/{name}/{file}", "PUT")

    def texts(self, name: str) -> list[str]:
        found = json.loads(self._ask(name, "LISTSTATUS"))["FileStatuses"]["FileStatus"]
        names = [each["pathSuffix"] for each in found if each["pathSuffix"][0] != "."]
        return [self._ask(f"{name}/{each}", "OPEN").decode() for each in names]


PLACES: list[type[Place]] = [S3Files, HdfsFiles]
