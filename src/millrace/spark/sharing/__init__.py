"""One Spark that several processes use."""
