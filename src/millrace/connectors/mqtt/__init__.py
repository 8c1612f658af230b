"""MQTT: topics read at least once from a session that outlives the job, and written."""
