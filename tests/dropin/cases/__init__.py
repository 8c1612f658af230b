"""Programs that run on PyFlink and on Millrace: a function of each module is one, and checks itself.

A case is a function without arguments, whose name does not begin with ``_``. It uses ``pyflink``, the standard library
and ``tests.dropin.checks``, nothing else, and asserts what PyFlink does; its first line says what that is. Each runs in
an empty folder of its own; Java runs elsewhere, so paths are absolute. A module whose name begins with ``batch_`` has
cases that need Spark here: those of Table programs in batch mode. What cases share is a class, or begins with ``_``.
"""
