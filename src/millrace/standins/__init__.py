"""What programs and tests of PyFlink import that faces Java: there is no JVM here, and what has no counterpart says so.

Only ``pyflink.X`` leads here (``millrace.activate`` knows which module is which); nothing of Millrace imports it.
"""
