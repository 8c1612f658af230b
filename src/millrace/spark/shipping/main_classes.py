"""Makes the classes of the user's main module known to the workers.

A worker's ``__main__`` is PySpark's daemon, so elements, splits or states that are instances of the program's own
classes could only travel with their whole class in every packet. Here the classes travel once, and land where pickle
looks for them.
"""

from __future__ import annotations

import pickle
import sys

from millrace.graph.serialize import pickles
from millrace.util.by_value import pickled_by_value


def main_classes() -> bytes:
    """The classes that the main module of this process defines, as far as they can be pickled."""
    main = sys.modules["__main__"]
    classes = {
        name: value for name, value in vars(main).items() if isinstance(value, type) and value.__module__ == "__main__"
    }
    return pickled_by_value({name: cls for name, cls in classes.items() if pickles(cls)})


def install_main_classes(payload: bytes) -> None:
    """Put them into this process's main module; those of an earlier job are replaced."""
    vars(sys.modules["__main__"]).update(pickle.loads(payload))
