"""Tools for agents: a server of the Model Context Protocol (MCP) over the collections of a store."""
