"""The ``millrace`` command. Modules that need Spark or rich are imported on use, so that ``--help`` is quick."""
