"""Models, errors and limits that server, client and command line share. Depends only on pydantic."""
