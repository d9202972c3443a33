"""The Neo4j store: the same port over a server (5.26 LTS)."""
