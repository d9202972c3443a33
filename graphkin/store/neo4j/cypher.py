"""Every statement that the adapter sends. Values are parameters. `{label}` is the label of a kind of item.

All nodes of one generation carry `graph`, the random token of the draft that wrote them. A reader learns the token only
from a published generation, so drafts are invisible. Each batch of a draft creates a batch node {graph, n} in the same
transaction. The constraint on these nodes turns a repeated batch into an error instead of a second copy.
"""

from enum import StrEnum

from graphkin.protocol.errors import InvalidInput
from graphkin.protocol.values import Kind
from graphkin.store.identity import content_digest

SCHEMA_VERSION = 5
"""The schema version. Each generation records the version in which it was written as `schema`."""


class Label(StrEnum):
    """The node labels of graphkin. Their prefix keeps them apart from labels of other users of the same database.

    Relationship types have no prefix. Relationships of graphkin join only its own nodes, so a statement with a label
    does not match others.
    """

    STORE = "Graphkin"  # the same in every schema version, so that a store of another version is recognized
    COLLECTION = "GraphkinCollection"
    GENERATION = "GraphkinGeneration"
    DRAFT = "GraphkinDraft"
    BATCH = "GraphkinBatch"
    REJECTION = "GraphkinRejection"
    NAME = "GraphkinName"
    KEY = "GraphkinKey"
    RERUN = "GraphkinRerun"
    EMBEDDING = "GraphkinEmbedding"


def item_label(kind: Kind) -> str:
    """Return the label of a kind of items, such as `GraphkinMolecule`.

    Raises:
        InvalidInput: The label is one of `Label`.
    """
    label = f"Graphkin{kind.capitalize()}"
    if label in set(Label):
        raise InvalidInput(
            "a kind of items cannot have this name in Neo4j",
            given=kind,
            expected="a name that is not one of graphkin's own labels",
            hint="rename the kind in the package that registers it",
        )
    return label


def digest(text: str) -> str:
    """Return a short digest of a text of any length, for an index."""
    return content_digest(text, 0).hex()


# IF NOT EXISTS does nothing if the name exists, even if it is an index of an older schema. So the names contain the
# version in which the constraint or index last changed.
_PREFIX = "graphkin_v3"
SCHEMA = [
    f"CREATE CONSTRAINT graphkin_store IF NOT EXISTS FOR (s:{Label.STORE}) REQUIRE s.name IS UNIQUE",
    f"CREATE CONSTRAINT {_PREFIX}_collection IF NOT EXISTS FOR (c:{Label.COLLECTION}) REQUIRE c.name IS UNIQUE",
    f"""CREATE CONSTRAINT {_PREFIX}_generation IF NOT EXISTS
    FOR (g:{Label.GENERATION}) REQUIRE (g.collection, g.generation) IS UNIQUE""",
    f"CREATE INDEX {_PREFIX}_generation_graph IF NOT EXISTS FOR (g:{Label.GENERATION}) ON (g.graph)",
    f"CREATE CONSTRAINT {_PREFIX}_draft IF NOT EXISTS FOR (d:{Label.DRAFT}) REQUIRE d.collection IS UNIQUE",
    f"CREATE CONSTRAINT {_PREFIX}_batch IF NOT EXISTS FOR (b:{Label.BATCH}) REQUIRE (b.graph, b.n) IS UNIQUE",
    f"CREATE CONSTRAINT {_PREFIX}_rejection IF NOT EXISTS FOR (r:{Label.REJECTION}) REQUIRE (r.graph, r.n) IS UNIQUE",
    f"CREATE INDEX {_PREFIX}_name IF NOT EXISTS FOR (n:{Label.NAME}) ON (n.graph, n.digest)",
]


def item_schema(kind: Kind) -> list[str]:
    """Return the statements that create the constraints and indexes for a kind of items."""
    label = item_label(kind)
    return [
        f"CREATE CONSTRAINT {_PREFIX}_{kind} IF NOT EXISTS FOR (i:{label}) REQUIRE (i.graph, i.id) IS UNIQUE",
        f"CREATE INDEX {_PREFIX}_{kind}_digest IF NOT EXISTS FOR (i:{label}) ON (i.graph, i.digest)",
        f"CREATE INDEX {_PREFIX}_{kind}_inchikey IF NOT EXISTS FOR (i:{label}) ON (i.graph, i.inchikey)",
    ]


def schema_name(statement: str) -> str:
    """Return the name of the constraint or index that a statement creates.

    The index of a constraint has the same name.
    """
    return statement.split()[2]


INDEX_NAMES = "SHOW INDEXES YIELD name RETURN collect(name) AS names"
AWAIT_INDEXES = "UNWIND $names AS name CALL db.awaitIndex(name, 300)"

DATABASE = "CALL db.info() YIELD name RETURN name"
VERSION = f"OPTIONAL MATCH (s:{Label.STORE} {{name: 'schema'}}) RETURN s.version AS version"
SET_VERSION = f"MERGE (s:{Label.STORE} {{name: 'schema'}}) ON CREATE SET s.position = 0 SET s.version = $version"

# Reading the catalog

COLLECTIONS = f"""
MATCH (c:{Label.COLLECTION})
MATCH (g:{Label.GENERATION} {{collection: c.name}}) WHERE g.deleted_at IS NULL
WITH c, g ORDER BY g.position
RETURN c.name AS name, c.kind AS kind, c.current AS current, collect(g.generation) AS generations ORDER BY name
"""
GENERATION = f"""
MATCH (g:{Label.GENERATION} {{collection: $collection, generation: $generation}})
RETURN g.manifest AS manifest, g.graph AS graph, g.deleted_at AS deleted_at, g.schema AS schema
"""

# API keys

KEY_SCHEMA = f"CREATE CONSTRAINT {_PREFIX}_key IF NOT EXISTS FOR (k:{Label.KEY}) REQUIRE k.id IS UNIQUE"
KEYS = f"MATCH (k:{Label.KEY}) RETURN k.id AS id, k.key AS key"
KEYS_VERSION = f"MATCH (k:{Label.KEY}) RETURN count(*) + count(CASE WHEN k.revoked THEN 1 END) AS version"
ADD_KEY = f"""
MERGE (k:{Label.KEY} {{id: $id}}) ON CREATE SET k.key = $key, k.revoked = $revoked RETURN k.key = $key AS is_stored
"""
REPLACE_KEY = f"MATCH (k:{Label.KEY} {{id: $id}}) SET k.key = $key, k.revoked = $revoked"

# Writing a draft. The draft node of a collection is its writer lock (`draft._Lease`), which expires at `until`.

# `held` is true while another writer has the lock. `leftovers` are the tokens of drafts whose writers died.
TAKE_DRAFT = f"""
MERGE (d:{Label.DRAFT} {{collection: $collection}})
WITH d, nullIf(d.graph, $graph) AS left
WITH d, left, left IS NOT NULL AND d.until > timestamp() AS held
FOREACH (_ IN CASE WHEN held THEN [] ELSE [1] END | SET d.graph = $graph, d.until = timestamp() + $lease)
FOREACH (_ IN CASE WHEN held OR left IS NULL THEN [] ELSE [1] END | SET d.leftovers = coalesce(d.leftovers, []) + left)
RETURN held, coalesce(d.leftovers, []) AS leftovers
"""
RENEW_DRAFT = f"""
MATCH (d:{Label.DRAFT} {{collection: $collection, graph: $graph}})
SET d.until = timestamp() + $lease RETURN d.until AS until
"""
CLEAR_LEFTOVERS = f"MATCH (d:{Label.DRAFT} {{collection: $collection, graph: $graph}}) REMOVE d.leftovers"
END_DRAFT = f"MATCH (d:{Label.DRAFT} {{collection: $collection, graph: $graph}}) DELETE d"
MARK_BATCH = f"CREATE (:{Label.BATCH} {{graph: $graph, n: $n}})"
FIND_BATCH = f"MATCH (b:{Label.BATCH} {{graph: $graph, n: $n}}) RETURN b.n AS n"

CREATE_ITEMS = "UNWIND $rows AS row CREATE (i:{label}) SET i = row.properties, i.graph = $graph, i.id = row.id"
CREATE_NAMES = f"UNWIND $rows AS row CREATE (:{Label.NAME} {{graph: $graph, digest: row.digest, id: row.id}})"
CREATE_REJECTIONS = f"""
UNWIND $rows AS row
CREATE (:{Label.REJECTION} {{graph: $graph, n: row.n, source: row.source, line: row.line, input: row.input,
                              reason: row.reason}})
"""
# These statements find items by the server's own ids, which takes two thirds of the time of a lookup in the index. The
# server may reuse the id of a deleted node, so `graph` must match, too.
NODES = """
MATCH (i:{label}) WHERE i.graph = $graph AND i.id >= $start AND i.id < $stop
WITH i ORDER BY i.id RETURN collect(elementId(i)) AS nodes
"""
SET_FINGERPRINTS = """
UNWIND $rows AS row MATCH (i:{label} {{graph: $graph}}) WHERE elementId(i) = row[0] SET i.fingerprint = row[1]
"""
SET_DROPPED = """
UNWIND $rows AS row MATCH (i:{label} {{graph: $graph}}) WHERE elementId(i) = row[0] SET i.dropped = row[1]
"""
CREATE_EDGES, CREATE_FOREST, CREATE_LINKS = (
    """
UNWIND $rows AS row
MATCH (a:{label} {{graph: $graph}}) WHERE elementId(a) = row[0]
WITH a, row UNWIND range(0, size(row[1]) - 1) AS k
MATCH (b:{label} {{graph: $graph}}) WHERE elementId(b) = row[1][k]
CREATE (a)-[:TYPE]->(b)
""".replace("TYPE", type)
    for type in ("SIMILAR {{similarity: row[2][k]}}", "SPANS {{similarity: row[2][k]}}", "LINKED")
)

PUBLISH = f"""
MATCH (d:{Label.DRAFT} {{collection: $collection, graph: $graph}})
MATCH (s:{Label.STORE} {{name: 'schema'}})
SET s.position = s.position + 1
MERGE (g:{Label.GENERATION} {{collection: $collection, generation: $generation}})
SET g.manifest = $manifest, g.graph = $graph, g.position = s.position, g.deleted_at = null, g.schema = $schema
MERGE (c:{Label.COLLECTION} {{name: $collection}})
ON CREATE SET c.kind = $kind
SET c.current = $generation
MERGE (c)-[:HAS]->(g)
DELETE d
RETURN g.generation AS generation
"""
MAKE_CURRENT = f"""
MATCH (c:{Label.COLLECTION} {{name: $collection}})
MATCH (d:{Label.DRAFT} {{collection: $collection, graph: $graph}})
SET c.current = $generation
RETURN c.current AS current
"""

KEEP_RERUN = f"""
MATCH (g:{Label.GENERATION} {{collection: $collection, generation: $generation}}) WHERE g.deleted_at IS NULL
MERGE (r:{Label.RERUN} {{collection: $collection, generation: $generation}}) SET r.content = $content
"""
RERUN = f"MATCH (r:{Label.RERUN} {{collection: $collection, generation: $generation}}) RETURN r.content AS content"
DELETE_RERUN = f"MATCH (r:{Label.RERUN} {{collection: $collection, generation: $generation}}) DELETE r"

# Deleting. The server uses an index of two properties only if the statement has a condition on both.

DELETE_GENERATION = f"""
MATCH (g:{Label.GENERATION} {{collection: $collection, generation: $generation}}) WHERE g.deleted_at IS NULL
SET g.deleted_at = $now
WITH g
OPTIONAL MATCH (left:{Label.GENERATION} {{collection: $collection}}) WHERE left.deleted_at IS NULL
WITH g, left ORDER BY left.position DESC
WITH g, collect(left.generation)[0] AS newest
MATCH (c:{Label.COLLECTION} {{name: $collection}})
FOREACH (_ IN CASE WHEN newest IS NOT NULL AND c.current = g.generation THEN [1] ELSE [] END | SET c.current = newest)
FOREACH (_ IN CASE WHEN newest IS NULL THEN [1] ELSE [] END | DETACH DELETE c)
RETURN g.graph AS graph
"""
DELETE_RELATIONSHIPS = """
MATCH (i:{label} {{graph: $graph}})-[r:SIMILAR|SPANS|LINKED]->() WHERE i.id IS NOT NULL
WITH r LIMIT $limit DELETE r RETURN count(*) AS deleted
"""
DELETE_NODES = """
MATCH (i:{label} {{graph: $graph}}) WHERE i.{key} IS NOT NULL
WITH i LIMIT $limit DETACH DELETE i RETURN count(*) AS deleted
"""
DELETED = f"""
MATCH (g:{Label.GENERATION} {{collection: $collection}}) WHERE g.deleted_at IS NOT NULL AND g.graph IS NOT NULL
RETURN g.graph AS graph, g.manifest AS manifest
"""
FORGET = f"""
MATCH (g:{Label.GENERATION} {{collection: $collection, graph: $graph}}) WHERE g.deleted_at IS NOT NULL REMOVE g.graph
"""
OTHER_NODES: dict[str, str] = {Label.NAME: "digest", Label.REJECTION: "n", Label.BATCH: "n"}
"""The labels of the nodes of a generation that are not items, each with the property by which it is indexed."""

# Reading a generation. `living` is false once the generation is deleted: a reader then discards what it has read.

_LIVING = f"EXISTS {{ (g:{Label.GENERATION}) WHERE g.graph = $graph AND g.deleted_at IS NULL }} AS living"
LIVING = f"RETURN {_LIVING}"
ITEMS = """
MATCH (i:{label}) WHERE i.graph = $graph AND i.id IN $ids
RETURN i.id AS id, [key IN $keys | i[key]] AS row, COUNT {{ (i)-[:SIMILAR]-() }} AS degree, i.dropped AS dropped
"""
SCAN = """
MATCH (i:{label}) WHERE i.graph = $graph AND i.id >= $start AND i.id < $stop
RETURN i.id AS id, [key IN $keys | i[key]] AS row ORDER BY id
"""
TAKE = """
MATCH (i:{label}) WHERE i.graph = $graph AND i.id IN $ids RETURN i.id AS id, [key IN $keys | i[key]] AS row
"""
FIND_SMILES = """
MATCH (i:{label} {{graph: $graph, digest: $digest}}) WHERE i.id > $after AND i.smiles = $value
RETURN i.id AS id ORDER BY id LIMIT $limit
"""
FIND_INCHIKEY = """
MATCH (i:{label} {{graph: $graph, inchikey: $value}}) WHERE i.id > $after RETURN i.id AS id ORDER BY id LIMIT $limit
"""
FIND_NAME = f"""
MATCH (n:{Label.NAME}) WHERE n.graph = $graph AND n.digest = $digest AND n.id > $after
MATCH (i:{{label}}) WHERE i.graph = $graph AND i.id = n.id AND $value IN i.names
RETURN i.id AS id ORDER BY id LIMIT $limit
"""
FIND_NAME_IN_ANY_CASE = """
MATCH (i:{label}) WHERE i.graph = $graph AND i.id > $after AND any(n IN i.names WHERE toLower(n) = toLower($value))
RETURN i.id AS id ORDER BY id LIMIT $limit
"""
SIMILAR_NAMES = """
MATCH (i:{label}) WHERE i.graph = $graph UNWIND i.names AS name
WITH name, toLower(name) AS lower WHERE lower STARTS WITH $beginning OR lower ENDS WITH $ending
RETURN name LIMIT $limit
"""
NEIGHBORS = """
MATCH (:{label} {{graph: $graph, id: $id}})-[r:SIMILAR]-(b) WHERE r.similarity >= $threshold
WITH b.id AS id, r.similarity AS similarity ORDER BY similarity DESC, id
WITH collect(id) AS ids, collect(similarity) AS similarity
RETURN ids[$offset..$stop] AS ids, similarity[$offset..$stop] AS similarity, size(ids) AS total, LIVING
""".replace("LIVING", _LIVING.replace("{", "{{").replace("}", "}}"))  # evaluated last, so that nothing is read after it
ROWS = """
MATCH (a:{label})-[r:SIMILAR]-(b) WHERE a.graph = $graph AND a.id IN $ids AND r.similarity >= $threshold
RETURN collect(a.id) AS source, collect(b.id) AS target, collect(r.similarity) AS similarity
"""
EDGES = """
MATCH (a:{label})-[r:SIMILAR]->(b)
WHERE a.graph = $graph AND a.id >= $start AND a.id < $stop AND r.similarity >= $threshold
RETURN collect(a.id) AS source, collect(b.id) AS target, collect(r.similarity) AS similarity
"""
EDGES_FROM = """
MATCH (a:{label})-[r:SIMILAR]->(b) WHERE a.graph = $graph AND a.id IN $ids AND r.similarity >= $threshold
RETURN collect(a.id) AS source, collect(b.id) AS target, collect(r.similarity) AS similarity
"""
FOREST = """
MATCH (a:{label})-[r:SPANS]->(b) WHERE a.graph = $graph AND a.id >= $start AND a.id < $stop
RETURN collect(a.id) AS source, collect(b.id) AS target, collect(r.similarity) AS similarity
"""
LINKS = """
MATCH (a:{label})-[:LINKED]->(b) WHERE a.graph = $graph AND a.id >= $start AND a.id < $stop
RETURN collect(a.id) AS source, collect(b.id) AS target
"""
FINGERPRINTS = """
MATCH (i:{label}) WHERE i.graph = $graph AND i.id >= $start AND i.id < $stop
RETURN i.id AS id, coalesce(i.fingerprint, []) AS fingerprint ORDER BY id
"""
DROPPED = """
MATCH (i:{label}) WHERE i.graph = $graph AND i.id >= $start AND i.id < $stop
RETURN collect(i.id) AS id, collect(i.dropped) AS dropped
"""
REJECTIONS = f"""
MATCH (r:{Label.REJECTION}) WHERE r.graph = $graph AND r.n >= $start AND r.n < $stop
RETURN r.source AS source, r.line AS line, r.input AS input, r.reason AS reason ORDER BY r.n
"""

# Random walks on a generation with GDS

DEGREES = """
MATCH (i:{label}) WHERE i.graph = $graph AND i.id >= $start AND i.id < $stop
RETURN collect(i.id) AS id, collect(COUNT {{ (i)-[:SIMILAR]-() }}) AS degree
"""
# The server locks a node that a transaction writes to, so the generation cannot be deleted before the transaction ends.
LOCK_GENERATION = f"""
MATCH (g:{Label.GENERATION} {{graph: $graph}}) SET g.lock = true REMOVE g.lock
WITH g WHERE g.deleted_at IS NULL RETURN g.generation AS generation
"""
GDS_VERSION = "RETURN gds.version() AS version"
IS_PROJECTED = "CALL gds.graph.exists($name) YIELD exists RETURN exists"
ESTIMATE_PROJECTION = """
CALL gds.graph.project.estimate('*', {SIMILAR: {type: '*', orientation: 'UNDIRECTED', properties: 'similarity'}},
                                {nodeCount: $nodes, relationshipCount: $relationships})
YIELD bytesMax RETURN bytesMax AS bytes
"""
FREE_HEAP = "CALL gds.debug.sysInfo() YIELD key, value WHERE key = 'availableHeapInBytes' RETURN value AS bytes"
# GDS takes the ids of the items as the ids of its nodes, so walks start from them and return them.
PROJECT = """
MATCH (a:{label} {{graph: $graph}}) WHERE a.id IS NOT NULL OPTIONAL MATCH (a)-[r:SIMILAR]->(b)
WITH gds.graph.project($name, a.id, b.id,
                       {{relationshipProperties: CASE WHEN r IS NULL THEN null ELSE r {{.similarity}} END}},
                       {{undirectedRelationshipTypes: ['*']}}) AS projected
RETURN projected.nodeCount AS nodes
"""
WALK = """
CALL gds.randomWalk.stream($name, {sourceNodes: $sources, walkLength: $length + 1, walksPerNode: $walks,
                                   returnFactor: $p, inOutFactor: $q, relationshipWeightProperty: 'similarity',
                                   randomSeed: $seed, concurrency: $concurrency})
YIELD nodeIds UNWIND nodeIds AS node RETURN collect(node) AS nodes
"""
PROJECTIONS = f"""
CALL db.info() YIELD name AS database
CALL gds.graph.list() YIELD graphName, database AS place, nodeCount, relationshipCount, sizeInBytes, creationTime
WITH * WHERE place = database AND graphName STARTS WITH $prefix
OPTIONAL MATCH (g:{Label.GENERATION} {{graph: substring(graphName, size($prefix))}}) WHERE g.deleted_at IS NULL
OPTIONAL MATCH (c:{Label.COLLECTION} {{name: g.collection, current: g.generation}})
RETURN graphName AS name, g.collection AS collection, g.generation AS generation, c IS NOT NULL AS current,
       nodeCount AS items, relationshipCount / 2 AS edges, sizeInBytes AS bytes, toString(creationTime) AS created_at
ORDER BY collection, created_at
"""
DROP_PROJECTION = "CALL gds.graph.drop($name, false) YIELD graphName RETURN graphName"

# Embeddings of items. `embeddings.Place` chooses label, index and property, which are names in backticks. The record of
# an embedding is complete only once every vector is written and the index answers.

EMBEDDING_SCHEMA = f"""CREATE CONSTRAINT {_PREFIX}_embedding IF NOT EXISTS
FOR (e:{Label.EMBEDDING}) REQUIRE (e.collection, e.property) IS UNIQUE"""
START_EMBEDDING = f"""
MERGE (e:{Label.EMBEDDING} {{collection: $collection, property: $property}})
SET e.graphs = [each IN coalesce(e.graphs, []) WHERE each <> $graph] + $graph
SET e.run = $run, e.index = $index, e.complete = false
REMOVE e.generation, e.dimensions, e.items, e.encoder, e.written_at
RETURN e.graphs AS graphs
"""
# The server locks a node that a transaction writes to, so another run cannot take over before the transaction ends.
HOLD_EMBEDDING = f"""
MATCH (e:{Label.EMBEDDING} {{collection: $collection, property: $property}}) SET e.lock = true REMOVE e.lock
WITH e WHERE e.run = $run RETURN e.index AS index
"""
SET_VECTORS = """
UNWIND $rows AS row MATCH (i:{label} {{graph: $graph, id: row[0]}}) SET i:{place}
WITH i, row CALL db.create.setNodeVectorProperty(i, $property, row[1])
RETURN count(i) AS items
"""
REMOVE_VECTORS = """
MATCH (i:{label}) WHERE i.graph = $graph AND i.id >= $start AND i.id < $stop REMOVE i.{property}
RETURN count(i) AS items
"""
# The server would quantize the vectors by default. Vectors of an encoder are close to each other, so that their scores
# would be off by more than their differences.
CREATE_VECTOR_INDEX = """
CREATE VECTOR INDEX {index} IF NOT EXISTS FOR (i:{place}) ON (i.{property})
OPTIONS {{indexConfig: {{`vector.dimensions`: {dimensions}, `vector.similarity_function`: 'cosine',
                        `vector.quantization.enabled`: false}}}}
"""
DROP_INDEX = "DROP INDEX {index} IF EXISTS"
AWAIT_INDEX = "CALL db.awaitIndex($index, $seconds)"
COMPLETE_EMBEDDING = f"""
MATCH (e:{Label.EMBEDDING} {{collection: $collection, property: $property}}) WHERE e.run = $run
SET e += $record, e.graphs = [$graph], e.complete = true REMOVE e.run
RETURN e.index AS index
"""
EMBEDDINGS_OF = f"""
MATCH (e:{Label.EMBEDDING} {{collection: $collection}}) WHERE $graph IN e.graphs
RETURN e.property AS property, e.index AS index, e.graphs = [$graph] AS is_last
"""
FORGET_EMBEDDING = f"""
MATCH (e:{Label.EMBEDDING} {{collection: $collection, property: $property}})
SET e.graphs = [each IN e.graphs WHERE each <> $graph] WITH e WHERE size(e.graphs) = 0 DELETE e
"""
