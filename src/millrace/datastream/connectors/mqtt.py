"""MQTT. PyFlink has nothing of the kind."""

from __future__ import annotations

from millrace.connectors.mqtt.mqtt_streams import MqttSink, MqttSource

__all__ = ["MqttSink", "MqttSource"]
