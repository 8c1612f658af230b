"""Stand-ins for PyFlink's modules that wrap Java: there is no JVM here, and names without a counterpart say so.

Only ``pyflink.X`` leads here (``millrace.activate`` maps the modules); no other code of Millrace imports them.
"""
