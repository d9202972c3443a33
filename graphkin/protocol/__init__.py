"""What server, client and command line say to each other. Needs pydantic and the standard library alone."""
