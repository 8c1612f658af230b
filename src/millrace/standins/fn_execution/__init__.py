"""``pyflink.fn_execution``: PyFlink's workers, of which only the names exist here that programs and tests use."""
