"""The ``millrace`` command. What needs Spark or rich is imported when it is used: ``--help`` is to be quick."""
