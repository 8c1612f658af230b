"""The program of ``job.py``, which says of each connection that its driver accepts whether it is encrypted. With
``stays`` it has tasks that stay where flow would be possible, too."""

from __future__ import annotations

import json
import socket
import sys

from tests.cluster.job import main

from millrace.spark.jobs import carriers
from millrace.spark.workers import flow_meeting
from millrace.spark.workers.encryption import Certificate, encrypted


def saying(link: socket.socket, tls: Certificate | None, server: bool) -> socket.socket:
    """As the function in whose place it stands."""
    print("a connection, encrypted:", tls is not None, flush=True)
    return encrypted(link, tls, server)


if __name__ == "__main__":
    flow_meeting.encrypted = saying  # type: ignore[attr-defined, unused-ignore]
    if json.loads(sys.argv[1])["stays"]:
        carriers._why_no_flow = lambda place, job: "this is about tasks that stay"
    main()
