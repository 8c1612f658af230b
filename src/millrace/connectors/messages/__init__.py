"""What connectors of message systems share: messages, reading with acknowledgements, sending."""
