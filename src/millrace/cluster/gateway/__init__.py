"""The SQL gateway: sessions and statements over REST, as Flink's clients and drivers speak it."""
