"""Files that the program registered under a name, as its tasks find them.

After Flink's ``org.apache.flink.api.common.cache.DistributedCache``; PyFlink has none in Python.
"""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["DistributedCache"]


class DistributedCache:
    """What ``RuntimeContext.get_distributed_cache()`` gives."""

    def __init__(self, files: Mapping[str, str]) -> None:
        """``files``: name -> path on this machine."""
        self._files = files

    def get_file(self, name: str) -> str:
        """The path of a file or folder on this machine: read it, but don't change it.

        :raises KeyError: nothing was registered under this name.
        """
        try:
            return self._files[name]
        except KeyError:
            known = ", ".join(sorted(self._files)) or "none"
            raise KeyError(
                f"no cached file {name!r}: env.register_cached_file(path, {name!r}) registers one; there are: {known}"
            ) from None
