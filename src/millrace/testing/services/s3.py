"""S3: s3proxy, which answers S3's requests from a folder."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from millrace.testing.services.jars import jars, java
from millrace.testing.services.small import SmallServer

VERSION = "4.1.0"
_SMALL = ["-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
_SETTINGS = """s3proxy.endpoint=http://127.0.0.1:{port}
s3proxy.authorization={authorization}
s3proxy.identity={access_key}
s3proxy.credential={secret_key}
jclouds.provider=filesystem-nio2
jclouds.filesystem.basedir={data}
jclouds.identity=x
jclouds.credential=x
"""
_LOGGING = '<configuration><root level="WARN"/></configuration>'


def fetch_s3() -> Path:
    """The folder with its jars. :raises ServiceUnavailable: they cannot be fetched."""
    # jclouds asks for a jackson whose annotations are older than the rest of it.
    return jars("s3proxy", f"org.gaul:s3proxy:{VERSION}", "com.fasterxml.jackson.core:jackson-annotations:2.21")


class S3(SmallServer):
    """An S3 server on loopback.

    :param open_to_all: whether it looks at no signature; for clients that sign in another way.
    """

    name = "s3proxy"
    ready_seconds = 120.0
    access_key = "millrace-access"
    secret_key = "millrace-secret"

    def __init__(self, open_to_all: bool = False) -> None:
        super().__init__()
        self._authorization = "none" if open_to_all else "aws-v2-or-v4"

    @property
    def url(self) -> str:
        """What clients call the endpoint."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def data(self) -> Path:
        """A folder for each bucket."""
        assert self._folder is not None
        return self._folder / "data"

    def configuration(self) -> dict[str, str]:
        """Flink's keys for a program that uses it."""
        return {
            "s3.endpoint": self.url,
            "s3.path.style.access": "true",
            "s3.access-key": self.access_key,
            "s3.secret-key": self.secret_key,
        }

    def bucket(self, name: str) -> None:
        """Make a bucket."""
        (self.data / name).mkdir()

    def command(self, folder: Path) -> Sequence[str]:
        program, libraries = java(), fetch_s3()
        (folder / "data").mkdir()
        settings, logging = folder / "s3proxy.conf", folder / "logback.xml"
        settings.write_text(
            _SETTINGS.format(
                port=self.port,
                authorization=self._authorization,
                access_key=self.access_key,
                secret_key=self.secret_key,
                data=folder / "data",
            )
        )
        logging.write_text(_LOGGING)
        at = [f"-Dlogback.configurationFile={logging}", "-cp", f"{libraries}/*"]
        return [program, *_SMALL, *at, "org.gaul.s3proxy.Main", "--properties", str(settings)]
