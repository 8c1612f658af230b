"""The cases of Flink's own tests, read from its compiled tests by ``record``, and asked of Millrace."""
