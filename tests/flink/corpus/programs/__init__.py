"""DataStream programs, written for PyFlink: functions from an environment to the stream whose elements count."""
