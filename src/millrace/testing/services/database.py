"""What servers of databases share: programs that refuse root, and a crash from which they come back."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

from millrace.testing.services.problems import ServiceUnavailable
from millrace.testing.services.small import SmallServer

PREPARE_SECONDS = 120.0
CRASH_SECONDS = 15.0


class Database(SmallServer):
    """A server whose files are made before it starts, and kept until ``stop``."""

    ready_seconds = 120.0
    account: str
    """the user that it runs as where this process is root's"""

    at_once: int = signal.SIGKILL
    """the signal that ends it and all its processes without writing what it has in memory"""

    def crash(self) -> None:
        """End it at once, without writing what it has in memory."""
        assert self.server is not None
        self.server.signal(self.at_once)
        until = time.monotonic() + CRASH_SECONDS
        while self.server.running and time.monotonic() < until:
            time.sleep(0.02)
        self.server.kill()

    def start_again(self) -> None:
        """Start it on the files and the port that it had. :raises ServiceUnavailable: it does not come back."""
        assert self.server is not None
        self.server.start()
        self.server.wait(self.ready, self.ready_seconds, "to come back")

    def stop(self) -> None:
        if self.server is not None and self.server.running:
            self.crash()  # its files are thrown away
        super().stop()

    def as_account(self, command: Sequence[str]) -> list[str]:
        if os.getuid() != 0:
            return list(command)
        return ["setpriv", f"--reuid={self.account}", f"--regid={self.account}", "--clear-groups", *command]

    def make(self, folder: Path, command: Sequence[str]) -> None:
        """Run what makes its files, in a folder that is its account's."""
        if os.getuid() == 0:
            try:
                shutil.chown(folder, self.account, self.account)
            except LookupError as error:
                raise ServiceUnavailable(
                    f"{self.name} does not run as root, and there is no user {self.account!r}"
                ) from error
        try:
            made = subprocess.run(
                self.as_account(command), capture_output=True, timeout=PREPARE_SECONDS, check=False, cwd=folder
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise ServiceUnavailable(f"{self.name}: its files cannot be made: {error}") from error
        if made.returncode != 0:
            raise ServiceUnavailable(f"{self.name}: its files cannot be made: {made.stderr.decode(errors='replace')}")
