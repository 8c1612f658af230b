"""Millrace: write Flink programs, run them on the Spark you already have."""

# Not looked up lazily: the import of a submodule binds its name here, and this name is to be the function.
from millrace.activate import activate, deactivate

__version__ = "0.1.0"
__all__ = ["activate", "deactivate", "__version__"]
