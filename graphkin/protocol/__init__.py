"""Models, errors and limits that server, client and command line share. Needs pydantic and the standard library."""
