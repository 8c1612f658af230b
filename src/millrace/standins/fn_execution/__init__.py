"""``pyflink.fn_execution``: PyFlink's workers. Of these are only the names here that programs and tests use."""
