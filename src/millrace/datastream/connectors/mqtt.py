"""MQTT. PyFlink has nothing of the kind."""

from __future__ import annotations

from millrace.connectors.mqtt.sink import MqttSink
from millrace.connectors.mqtt.source import MqttSource

__all__ = ["MqttSink", "MqttSource"]
