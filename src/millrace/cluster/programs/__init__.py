"""Programs that were uploaded to a cluster."""
