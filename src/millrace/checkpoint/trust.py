"""Whether what is to be unpickled lies where only its user can have put it."""

from __future__ import annotations

from millrace.checkpoint.directory import state_files
from millrace.checkpoint.files.folder import Folder, LocalFolder
from millrace.checkpoint.savepoints.metadata import METADATA, Metadata
from millrace.util.private_folder import check_file, check_shared

__all__ = ["check_trusted"]


def check_trusted(folder: Folder, base: Folder, metadata: Metadata) -> None:
    """See that no other user can have written a checkpoint or savepoint. Whose files a remote file system lets whom
    write can't be seen from here: those are taken as they are.

    :param base: where the paths of its files begin.
    :raises NotPrivateError: somebody else owns it or may write to it.
    """
    if not isinstance(folder, LocalFolder):
        return
    check_shared(folder.uri)
    check_file(f"{folder.uri}/{METADATA}")
    paths = [path for path, _ in state_files(metadata)]
    paths += [file.path for saved in metadata.saved.values() for file in saved.files]
    if paths and base.uri != folder.uri:
        check_shared(base.uri)
    for path in paths:
        check_file(f"{base.uri}/{path}")
