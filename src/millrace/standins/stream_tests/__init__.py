"""``pyflink.datastream.tests``: helpers that PyFlink's stream tests share."""
