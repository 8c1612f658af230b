"""NATS JetStream: streams read from positions, written with confirmations."""
