"""A SQLAlchemy dialect on the driver: ``create_engine("millrace://localhost:8083")``."""
