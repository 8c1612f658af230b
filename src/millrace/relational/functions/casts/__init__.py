"""CAST and TRY_CAST: of single values, of whole columns, and as Spark SQL."""
