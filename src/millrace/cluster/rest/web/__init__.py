"""What all routes share: settings, calls, errors, parameters, asynchronous operations, protection, static pages."""
