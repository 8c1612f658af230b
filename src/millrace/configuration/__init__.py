"""Configuration keys: their declarations in Flink, their effect in Millrace, and the files that contain them."""
