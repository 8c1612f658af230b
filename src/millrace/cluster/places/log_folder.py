"""Where the logs of a cluster lie: in its folder, or below ``env.log.dir``, where its folder leads then."""

from __future__ import annotations

import os
import shutil

from millrace.cluster.places.job_folder import LOGS
from millrace.util.private_folder import make_private


def place_logs(cluster: str, directory: str | None) -> None:
    """Let the cluster log below a directory, in a folder with its name; None: in its own folder. Logs that it has come
    along, unless they lie in another directory that was named.

    :raises NotPrivateError: others can write there.
    """
    here = os.path.join(cluster, LOGS)
    there = None if directory is None else os.path.join(os.path.abspath(directory), os.path.basename(cluster))
    if there is not None:
        make_private(there)
    if os.path.islink(here):
        if there is not None and os.path.realpath(here) == os.path.realpath(there):
            return
        os.unlink(here)
    if there is None:
        make_private(here)
        return
    if os.path.isdir(here):
        for name in os.listdir(here):
            shutil.move(os.path.join(here, name), os.path.join(there, name))
        os.rmdir(here)
    os.symlink(there, here)
