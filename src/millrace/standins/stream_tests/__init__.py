"""``pyflink.datastream.tests``: what PyFlink's tests of streams share."""
