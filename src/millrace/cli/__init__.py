"""The ``millrace`` command. Everything that needs Spark or rich is imported when it is used: ``--help`` is to be quick."""
