"""Starting a real Flink of one's own: a session cluster, its SQL gateway, its history server, its command."""
