"""HTTP layer: connections, middleware, authentication, quotas, request parsing and response encoding."""
