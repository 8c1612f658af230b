"""What connectors to databases and other stores share: buffers, changes by key, reading in parts, look-ups."""
