"""The Neo4j store: the store port over a server (5.26 LTS)."""
