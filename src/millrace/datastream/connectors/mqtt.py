# Written by `make tables` from millrace.pyflink_names: edit that, not this file.
"""Sources and sinks for MQTT. Not in PyFlink."""

from __future__ import annotations

from millrace.connectors.mqtt.mqtt_streams import MqttSink, MqttSource

__all__ = [
    "MqttSink",
    "MqttSource",
]
