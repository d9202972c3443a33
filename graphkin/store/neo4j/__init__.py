"""The Neo4j store: the adapter of the store port for a Neo4j server (5.26 LTS)."""
