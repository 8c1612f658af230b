"""Classes of the user's main program, made known in workers under the name that pickle looks for."""

from __future__ import annotations

import sys
from typing import Any

from cloudpickle import cloudpickle

_published: dict[str, Any] = {}


def publish_main_classes() -> None:
    """Put the classes that arrived with a job into this worker's ``__main__``.

    cloudpickle sends a class of ``__main__`` by value, but elements and state are pickled by the much faster pickle,
    which writes ``__main__.Word`` and must find that here. Names of the worker's own program are left alone.
    """
    main = sys.modules["__main__"]
    for kind in list(cloudpickle._DYNAMIC_CLASS_TRACKER_BY_ID.values()):
        name = kind.__qualname__
        if kind.__module__ != "__main__" or not name.isidentifier():
            continue
        if getattr(main, name, None) is _published.get(name):
            setattr(main, name, kind)
            _published[name] = kind
