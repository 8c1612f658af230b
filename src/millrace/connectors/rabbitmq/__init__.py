"""RabbitMQ: queues read and written with confirmations."""
