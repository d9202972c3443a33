"""Every statement that the adapter sends. Values are parameters. `{label}` is the label of a kind of item.

All nodes of one generation carry `graph`, the number of the draft that wrote them, which no other draft has. A reader
learns it only from a published generation, so drafts are invisible. Each batch of a draft creates a batch node
{graph, n} in the same transaction. The constraint on these nodes turns a repeated batch into an error instead of a
second copy. The publication deletes them.

A published generation may share its nodes with the generation to which its items were appended: both have the same
`graph`, and each has a `revision`, the number of the draft that published it. Readers of a revision see the items
below its size, and the relationships that were there `since` this revision or an earlier one. A relationship that a
later revision removed has another type (`FORMER_`…) and `until`, the first revision without it. So SIMILAR and SPANS
are those of the newest revision.

An entity stands for one structure of a collection in all of its generations. Users attach their own data to it. The
items of that structure point to it by `OF`. graphkin never reads a generation by way of entities.
"""

from enum import StrEnum

from graphkin.protocol.errors import InvalidInput
from graphkin.protocol.values import Kind
from graphkin.store.identity import content_digest

SCHEMA_VERSION = 6
"""The schema version. Each generation records the version in which it was written as `schema`."""


class Label(StrEnum):
    """The node labels of graphkin. Their prefix keeps them apart from labels of other users of the same database.

    Relationship types have no prefix. Relationships of graphkin join only its own nodes, so a statement with a label
    does not match others.
    """

    STORE = "Graphkin"  # the same in every schema version, so that a store of another version is recognized
    COLLECTION = "GraphkinCollection"
    GENERATION = "GraphkinGeneration"
    CURRENT = "GraphkinCurrent"  # the second label of the generation that a collection serves
    MANIFEST = "GraphkinManifest"
    DRAFT = "GraphkinDraft"
    BATCH = "GraphkinBatch"
    FINGERPRINTS = "GraphkinFingerprintBlock"
    TRUNCATED = "GraphkinTruncatedBlock"
    FORMER_NAMES = "GraphkinFormerNames"
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


def entity_label(kind: Kind) -> str:
    """Return the label of the entities of a kind of items."""
    return "GraphkinCompound" if kind == "molecule" else f"{item_label(kind)}Entity"


def fill(statement: str, **names: object) -> str:
    """Return a statement with labels and other names, which cannot be parameters, at the places such as `{label}`."""
    for place, name in names.items():
        statement = statement.replace(f"{{{place}}}", str(name))
    return statement


def with_labels(statement: str, kind: Kind) -> str:
    """Return a statement with the labels of a kind of items and of its entities."""
    return fill(statement, label=item_label(kind), entity=entity_label(kind))


ENTITY_PROPERTIES = ["collection", "digest", "smiles", "inchikey", "name"]
"""The properties of an entity that graphkin writes, and only when it creates the entity. `digest` identifies it."""


def digest(text: str) -> str:
    """Return a short digest of a text of any length, for an index."""
    return content_digest(text, 0).hex()


# IF NOT EXISTS does nothing if the name exists, even if it is an index of an older schema. So the names contain the
# version in which the constraint or index last changed.
SCHEMA = [
    f"CREATE CONSTRAINT graphkin_store IF NOT EXISTS FOR (s:{Label.STORE}) REQUIRE s.name IS UNIQUE",
    f"CREATE CONSTRAINT graphkin_v3_collection IF NOT EXISTS FOR (c:{Label.COLLECTION}) REQUIRE c.name IS UNIQUE",
    f"""CREATE CONSTRAINT graphkin_v3_generation IF NOT EXISTS
    FOR (g:{Label.GENERATION}) REQUIRE (g.collection, g.generation) IS UNIQUE""",
    f"CREATE INDEX graphkin_v3_generation_graph IF NOT EXISTS FOR (g:{Label.GENERATION}) ON (g.graph)",
    f"CREATE CONSTRAINT graphkin_v6_current IF NOT EXISTS FOR (g:{Label.CURRENT}) REQUIRE g.collection IS UNIQUE",
    f"CREATE CONSTRAINT graphkin_v3_draft IF NOT EXISTS FOR (d:{Label.DRAFT}) REQUIRE d.collection IS UNIQUE",
    f"CREATE CONSTRAINT graphkin_v3_batch IF NOT EXISTS FOR (b:{Label.BATCH}) REQUIRE (b.graph, b.n) IS UNIQUE",
    f"CREATE CONSTRAINT graphkin_v3_rejection IF NOT EXISTS FOR (r:{Label.REJECTION}) REQUIRE (r.graph, r.n) IS UNIQUE",
    f"CREATE INDEX graphkin_v3_name IF NOT EXISTS FOR (n:{Label.NAME}) ON (n.graph, n.digest)",
    f"""CREATE CONSTRAINT graphkin_v6_fingerprints IF NOT EXISTS
    FOR (b:{Label.FINGERPRINTS}) REQUIRE (b.graph, b.start) IS UNIQUE""",
    f"""CREATE CONSTRAINT graphkin_v6_truncated IF NOT EXISTS
    FOR (b:{Label.TRUNCATED}) REQUIRE (b.graph, b.revision, b.start) IS UNIQUE""",
    f"""CREATE CONSTRAINT graphkin_v6_former_names IF NOT EXISTS
    FOR (f:{Label.FORMER_NAMES}) REQUIRE (f.graph, f.id, f.until) IS UNIQUE""",
]


def item_schema(kind: Kind) -> list[str]:
    """Return the statements that create the constraints and indexes for a kind of items and for their entities."""
    item, entity = item_label(kind), entity_label(kind)
    statements = [
        f"CREATE CONSTRAINT graphkin_v3_{kind} IF NOT EXISTS FOR (i:{item}) REQUIRE (i.graph, i.id) IS UNIQUE",
        f"CREATE INDEX graphkin_v6_{kind}_smiles IF NOT EXISTS FOR (i:{item}) ON (i.graph, i.smiles)",
        f"CREATE INDEX graphkin_v6_{kind}_name IF NOT EXISTS FOR (i:{item}) ON (i.graph, i.name)",
        f"CREATE INDEX graphkin_v3_{kind}_inchikey IF NOT EXISTS FOR (i:{item}) ON (i.graph, i.inchikey)",
        f"""CREATE CONSTRAINT graphkin_v6_{kind}_entity IF NOT EXISTS
        FOR (e:{entity}) REQUIRE (e.collection, e.digest) IS UNIQUE""",
        f"CREATE INDEX graphkin_v6_{kind}_entity_smiles IF NOT EXISTS FOR (e:{entity}) ON (e.smiles)",
        f"CREATE INDEX graphkin_v6_{kind}_entity_inchikey IF NOT EXISTS FOR (e:{entity}) ON (e.inchikey)",
        # The server updates this index in the background, because it would take a third of the time of a load.
        f"""CREATE FULLTEXT INDEX graphkin_v6_{kind}_entity_name IF NOT EXISTS FOR (e:{entity}) ON EACH [e.name]
        OPTIONS {{indexConfig: {{`fulltext.eventually_consistent`: true}}}}""",
    ]
    if kind == "molecule":
        statements.append(f"CREATE INDEX graphkin_v6_{kind}_molwt IF NOT EXISTS FOR (i:{item}) ON (i.graph, i.molwt)")
    return statements


def schema_name(statement: str) -> str:
    """Return the name of the constraint or index that a statement creates.

    The index of a constraint has the same name.
    """
    words = statement.split()
    return words[words.index("IF") - 1]


INDEX_NAMES = "SHOW INDEXES YIELD name RETURN collect(name) AS names"
AWAIT_INDEXES = "UNWIND $names AS name CALL db.awaitIndex(name, 300)"

DATABASE = "CALL db.info() YIELD name RETURN name"
VERSION = f"OPTIONAL MATCH (s:{Label.STORE} {{name: 'schema'}}) RETURN s.version AS version"
SET_VERSION = f"MERGE (s:{Label.STORE} {{name: 'schema'}}) ON CREATE SET s.number = 0 SET s.version = $version"

# Reading the catalog

COLLECTIONS = f"""
MATCH (c:{Label.COLLECTION})
MATCH (g:{Label.GENERATION} {{collection: c.name}}) WHERE g.deletedAt IS NULL
WITH c, g ORDER BY g.number
RETURN c.name AS name, c.kind AS kind, c.current AS current, collect(g.generation) AS generations ORDER BY name
"""
GENERATION = f"""
MATCH (g:{Label.GENERATION} {{collection: $collection, generation: $generation}})
OPTIONAL MATCH (g)-[:HAS]->(m:{Label.MANIFEST})
RETURN m.json AS manifest, g.graph AS graph, g.revision AS revision, g.deletedAt AS deleted_at, g.schema AS schema
"""

# API keys

KEY_SCHEMA = f"CREATE CONSTRAINT graphkin_v3_key IF NOT EXISTS FOR (k:{Label.KEY}) REQUIRE k.id IS UNIQUE"
KEYS = f"MATCH (k:{Label.KEY}) RETURN k.id AS id, k.key AS key"
KEYS_VERSION = f"MATCH (k:{Label.KEY}) RETURN count(*) + count(CASE WHEN k.revoked THEN 1 END) AS version"
ADD_KEY = f"""
MERGE (k:{Label.KEY} {{id: $id}}) ON CREATE SET k.key = $key, k.revoked = $revoked RETURN k.key = $key AS is_stored
"""
REPLACE_KEY = f"MATCH (k:{Label.KEY} {{id: $id}}) SET k.key = $key, k.revoked = $revoked"

# Writing a draft. The draft node of a collection is its writer lock (`draft._Lease`), which expires at `until`.

# `held` is true while another writer has the lock. `leftovers` are the numbers of drafts whose writers died. The first
# SET locks the node, so that no other writer acquires the lock before this transaction ends. A repeated statement finds
# its own `writer`. Numbers are times in milliseconds, or the next integers, so that no number occurs again in a store
# that is removed and created anew.
TAKE_DRAFT = f"""
MERGE (d:{Label.DRAFT} {{collection: $collection}})
SET d.collection = $collection
WITH d, d.graph AS left, coalesce(d.writer = $writer, false) AS taken
WITH d, left, taken, NOT taken AND left IS NOT NULL AND d.until > timestamp() AS held
MATCH (s:{Label.STORE} {{name: 'schema'}})
FOREACH (_ IN CASE WHEN held OR taken THEN [] ELSE [1] END |
  SET s.graph = CASE WHEN coalesce(s.graph, 0) < timestamp() THEN timestamp() ELSE s.graph + 1 END
  SET d.graph = s.graph, d.writer = $writer
  SET d.leftovers = CASE WHEN left IS NULL THEN d.leftovers ELSE coalesce(d.leftovers, []) + left END)
FOREACH (_ IN CASE WHEN held THEN [] ELSE [1] END | SET d.until = timestamp() + $lease)
RETURN held, d.graph AS graph, coalesce(d.leftovers, []) AS leftovers
"""
RENEW_DRAFT = f"""
MATCH (d:{Label.DRAFT} {{collection: $collection, graph: $graph}})
SET d.until = timestamp() + $lease RETURN d.until AS until
"""
CLEAR_LEFTOVERS = f"MATCH (d:{Label.DRAFT} {{collection: $collection, graph: $graph}}) REMOVE d.leftovers"
END_DRAFT = f"MATCH (d:{Label.DRAFT} {{collection: $collection, graph: $graph}}) DELETE d"
MARK_BATCH = f"CREATE (:{Label.BATCH} {{graph: $graph, n: $n}})"
FIND_BATCH = f"MATCH (b:{Label.BATCH} {{graph: $graph, n: $n}}) RETURN b.n AS n"

CREATE_ITEMS = """
UNWIND $rows AS row
CREATE (i:{label}) SET i = row.properties, i.graph = $graph, i.id = row.id
WITH i, row WHERE row.digest IS NOT NULL
MERGE (e:{entity} {collection: $collection, digest: row.digest})
ON CREATE SET e.smiles = i.smiles, e.inchikey = i.inchikey, e.name = i.name
ON MATCH SET e.inchikey = coalesce(e.inchikey, i.inchikey)
CREATE (i)-[:OF]->(e)
"""
CREATE_FINGERPRINTS = f"""
UNWIND $rows AS row CREATE (:{Label.FINGERPRINTS} {{graph: $graph, start: row[0], words: row[1]}})
"""
CREATE_NAMES = f"""
UNWIND $rows AS row CREATE (:{Label.NAME} {{graph: $graph, digest: row.digest, id: row.id, since: row.since}})
"""
CREATE_TRUNCATED = f"""
UNWIND $rows AS row CREATE (:{Label.TRUNCATED} {{graph: $graph, revision: row[0], start: row[1], counts: row[2]}})
"""
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
CREATE_EDGES, CREATE_FOREST, CREATE_LINKS = (
    """
UNWIND $rows AS row
MATCH (a:{label} {graph: $graph}) WHERE elementId(a) = row[0]
WITH a, row UNWIND range(0, size(row[1]) - 1) AS k
MATCH (b:{label} {graph: $graph}) WHERE elementId(b) = row[1][k]
CREATE (a)-[:TYPE]->(b)
""".replace("TYPE", type)
    for type in ("SIMILAR {similarity: row[2][k]}", "SPANS {similarity: row[2][k]}", "LINKED")
)

# `g` becomes the current generation of `c`. The old one loses the label first, because a collection has only one.
_MAKE_CURRENT = f"""
OPTIONAL MATCH (old:{Label.CURRENT} {{collection: c.name}})
WITH c, g, collect(old) AS olds
FOREACH (old IN olds | REMOVE old:{Label.CURRENT})
SET g:{Label.CURRENT}, c.current = g.generation
"""
# The server locks a node that a transaction writes to. So a deletion and a publication that depend on each other take
# place one after the other.
LOCK_COLLECTION = f"MATCH (c:{Label.COLLECTION} {{name: $collection}}) SET c.lock = true REMOVE c.lock"
LOCK_DRAFT = f"""
MATCH (d:{Label.DRAFT} {{collection: $collection, graph: $graph}}) SET d.lock = true REMOVE d.lock
RETURN d.graph AS graph
"""
PUBLISH = f"""
MATCH (d:{Label.DRAFT} {{collection: $collection, graph: $graph}})
MATCH (s:{Label.STORE} {{name: 'schema'}})
SET s.number = s.number + 1
DELETE d
MERGE (g:{Label.GENERATION} {{collection: $collection, generation: $generation}})
SET g += $facts, g.publishedAt = datetime($facts.publishedAt), g.graph = $target, g.revision = $revision,
    g.number = s.number, g.schema = $schema, g.deletedAt = null
CREATE (g)-[:HAS]->(:{Label.MANIFEST} {{json: $manifest, blocks: $blocks}})
MERGE (c:{Label.COLLECTION} {{name: $collection}})
ON CREATE SET c.kind = $facts.kind
MERGE (c)-[:HAS]->(g)
WITH c, g
{_MAKE_CURRENT}
WITH g
CALL () {{ MATCH (b:{Label.BATCH} {{graph: $graph}}) WHERE b.n IS NOT NULL DELETE b }}
RETURN g.generation AS generation
"""
MAKE_CURRENT = f"""
MATCH (:{Label.DRAFT} {{collection: $collection, graph: $graph}})
MATCH (c:{Label.COLLECTION} {{name: $collection}})
MATCH (g:{Label.GENERATION} {{collection: $collection, generation: $generation}})
WITH c, g
{_MAKE_CURRENT}
RETURN c.current AS current
"""

KEEP_RERUN = f"""
MATCH (g:{Label.GENERATION} {{collection: $collection, generation: $generation}}) WHERE g.deletedAt IS NULL
MERGE (r:{Label.RERUN} {{collection: $collection, generation: $generation}}) SET r.content = $content
"""
RERUN = f"MATCH (r:{Label.RERUN} {{collection: $collection, generation: $generation}}) RETURN r.content AS content"
DELETE_RERUN = f"MATCH (r:{Label.RERUN} {{collection: $collection, generation: $generation}}) DELETE r"

# Deleting. The server uses an index of two properties only if the statement has a condition on both.

DELETE_GENERATION = f"""
MATCH (deleted:{Label.GENERATION} {{collection: $collection, generation: $generation}}) WHERE deleted.deletedAt IS NULL
MATCH (c:{Label.COLLECTION} {{name: $collection}})-[has:HAS]->(deleted)
SET deleted.deletedAt = $now
REMOVE deleted:{Label.CURRENT}
DELETE has
WITH c
OPTIONAL MATCH (left:{Label.GENERATION} {{collection: $collection}}) WHERE left.deletedAt IS NULL
WITH c, left ORDER BY left.number DESC
WITH c, collect(left) AS generations
FOREACH (_ IN CASE WHEN generations = [] THEN [1] ELSE [] END | DETACH DELETE c)
WITH c, generations[0] AS g WHERE g IS NOT NULL AND NOT EXISTS {{ (:{Label.CURRENT} {{collection: $collection}}) }}
{_MAKE_CURRENT}
"""
DELETE_RELATIONSHIPS = """
MATCH (i:{label} {graph: $graph})-[r:SIMILAR|SPANS|FORMER_SIMILAR|FORMER_SPANS|LINKED]->()
WHERE i.id IS NOT NULL
WITH r LIMIT $limit DELETE r RETURN count(*) AS deleted
"""
# An entity goes with the last of its items, unless a user attached something to it. It is locked first, so that no
# writer adds an item meanwhile.
DELETE_ITEMS = """
MATCH (i:{label} {graph: $graph}) WHERE i.id >= $first
WITH i LIMIT $limit
OPTIONAL MATCH (i)-[:OF]->(e:{entity})
WITH collect(i) AS items, collect(DISTINCT e) AS entities
WITH items, entities, size(items) AS deleted
FOREACH (e IN entities | SET e.lock = true REMOVE e.lock)
FOREACH (i IN items | DETACH DELETE i)
WITH deleted, [e IN entities WHERE NOT EXISTS { (e)--() } AND size(labels(e)) = 1
               AND all(key IN keys(e) WHERE key IN $entity_properties)] AS unused
FOREACH (e IN unused | DELETE e)
RETURN deleted
"""
DELETE_NODES = """
MATCH (i:{label} {graph: $graph}) WHERE i.{key} IS NOT NULL
WITH i LIMIT $limit DELETE i RETURN count(*) AS deleted
"""
DELETED = f"""
MATCH (g:{Label.GENERATION} {{collection: $collection}}) WHERE g.deletedAt IS NOT NULL AND g.graph IS NOT NULL
RETURN g.graph AS graph, g.revision AS revision, g.kind AS kind,
       COLLECT {{
         MATCH (other:{Label.GENERATION} {{graph: g.graph}}) WHERE other.deletedAt IS NULL
         RETURN other.revision ORDER BY other.revision
       }} AS living
"""
# After the deletion of a revision: the newest of those that are left of its graph.
NEWEST_LIVING = f"""
MATCH (deleted:{Label.GENERATION} {{collection: $collection, generation: $generation}})
MATCH (g:{Label.GENERATION} {{graph: deleted.graph}})-[:HAS]->(m:{Label.MANIFEST}) WHERE g.deletedAt IS NULL
RETURN g.graph AS graph, g.revision AS revision, deleted.revision AS deleted, m.json AS manifest
ORDER BY revision DESC LIMIT 1
"""
FORGET = f"""
MATCH (g:{Label.GENERATION} {{collection: $collection}})
WHERE g.graph = $graph AND g.revision = $revision AND g.deletedAt IS NOT NULL
OPTIONAL MATCH (g)-[:HAS]->(m:{Label.MANIFEST})
DETACH DELETE m REMOVE g.graph, g.revision
"""
# Relationships and names that only a deleted revision saw, when others of its graph are `living`.
DELETE_FORMER_RELATIONSHIPS = """
MATCH (i:{label} {graph: $graph})-[r:FORMER_SIMILAR|FORMER_SPANS]->() WHERE i.id IS NOT NULL
  AND none(revision IN $living WHERE revision >= coalesce(r.since, 0) AND revision < r.until)
WITH r LIMIT $limit DELETE r RETURN count(*) AS deleted
"""
DELETE_FORMER_NAMES = f"""
MATCH (f:{Label.FORMER_NAMES}) WHERE f.graph = $graph AND f.id >= 0
  AND none(revision IN $living WHERE revision < f.until)
WITH f LIMIT $limit DELETE f RETURN count(*) AS deleted
"""
DELETE_TRUNCATED = f"""
MATCH (b:{Label.TRUNCATED}) WHERE b.graph = $graph AND b.revision = $revision
WITH b LIMIT $limit DELETE b RETURN count(*) AS deleted
"""
OTHER_NODES: dict[str, str] = {
    Label.NAME: "digest",
    Label.REJECTION: "n",
    Label.BATCH: "n",
    Label.FINGERPRINTS: "start",
    Label.TRUNCATED: "start",
    Label.FORMER_NAMES: "id",
}
"""The labels of the nodes of a generation that are not items, each with the property by which it is indexed."""

ENTITY_LABELS = """
CALL db.labels() YIELD label
WHERE label = 'GraphkinCompound' OR label STARTS WITH 'Graphkin' AND label ENDS WITH 'Entity' RETURN label
"""
PURGE = """
MATCH (e:{label} {collection: $collection}) WHERE e.digest IS NOT NULL AND NOT EXISTS { (e)<-[:OF]-() }
WITH e LIMIT $limit
SET e.lock = true REMOVE e.lock
WITH e WHERE NOT EXISTS { (e)<-[:OF]-() }
DETACH DELETE e RETURN count(*) AS deleted
"""

# Copying what users attached to the items of one generation to those of another one. An item `a` of the source and an
# item `b` of the target belong to the same entity.

ITEM_RELATIONSHIPS = ["SIMILAR", "SPANS", "FORMER_SIMILAR", "FORMER_SPANS", "LINKED", "OF"]
"""The types of the relationships of an item that graphkin writes."""

CARRY = """
MATCH (a:{label}) WHERE a.graph = $source AND a.id >= $start AND a.id < $stop
WITH a, [label IN labels(a) WHERE NOT label STARTS WITH 'Graphkin'] AS labels,
     [key IN keys(a) WHERE NOT key IN $own] AS keys
WHERE labels <> [] OR keys <> [] OR EXISTS { (a)-[r]-() WHERE NOT type(r) IN $types }
OPTIONAL MATCH (a)-[:OF]->(:{entity})<-[:OF]-(b:{label} {graph: $target}) WHERE b.id < $size
SET b:$(labels)
FOREACH (key IN keys | SET b[key] = a[key])
RETURN count(b) AS items, count(*) - count(b) AS missing,
       sum(CASE WHEN b IS NULL THEN 0 ELSE size(labels) END) AS labels,
       sum(CASE WHEN b IS NULL THEN 0 ELSE size(keys) END) AS properties
"""
# A relationship between two items of the source becomes one between their items of the target.
CARRY_OUTGOING, CARRY_INCOMING = (
    f"""
MATCH (a:{{label}}) WHERE a.graph = $source AND a.id >= $start AND a.id < $stop
MATCH (a){left}[r]{right}(x) WHERE NOT type(r) IN $types
MATCH (a)-[:OF]->(:{{entity}})<-[:OF]-(b:{{label}} {{graph: $target}}) WHERE b.id < $size
OPTIONAL MATCH (x)-[:OF]->(:{{entity}})<-[:OF]-(y:{{label}} {{graph: $target}}) WHERE y.id < $size
WITH b, r, coalesce(y, CASE WHEN x:{{label}} AND x.graph = $source THEN null ELSE x END) AS end
WHERE end IS NOT NULL
  AND NOT EXISTS {{ (b){left}[s]{right}(end) WHERE type(s) = type(r) AND properties(s) = properties(r) }}
CREATE (b){left}[s:$(type(r))]{right}(end) SET s = properties(r)
RETURN count(*) AS relationships
"""
    for left, right in (("-", "->"), ("<-", "-"))
)

# Appending to a generation in one transaction.

IS_NEWEST = f"""
MATCH (g:{Label.GENERATION} {{collection: $collection, generation: $generation}}) WHERE g.deletedAt IS NULL
RETURN NOT EXISTS {{ (other:{Label.GENERATION} {{graph: g.graph}}) WHERE other.revision > g.revision }} AS is_newest
"""
BLOCKS = f"""
MATCH (g:{Label.GENERATION} {{collection: $collection, generation: $generation}})-[:HAS]->(m:{Label.MANIFEST})
RETURN m.blocks AS blocks
"""
ADD_TO_NAMES = f"""
UNWIND $rows AS row
MATCH (i:{{label}} {{graph: $graph, id: row.id}})
CREATE (:{Label.FORMER_NAMES} {{graph: $graph, id: row.id, until: $revision, names: i.names, name: i.name}})
SET i.names = i.names + row.names, i.name = row.name
"""
REMOVE_EDGES, REMOVE_FROM_FOREST = (
    """
UNWIND $rows AS row
MATCH (a:{label} {graph: $graph, id: row[0]})-[r:TYPE]->(b:{label} {graph: $graph, id: row[1]})
CREATE (a)-[:FORMER_TYPE {similarity: r.similarity, since: r.since, until: $revision}]->(b)
DELETE r
""".replace("TYPE", type)
    for type in ("SIMILAR", "SPANS")
)
ADD_EDGES, ADD_TO_FOREST = (
    """
UNWIND $rows AS row
MATCH (a:{label} {graph: $graph, id: row[0]})
MATCH (b:{label} {graph: $graph, id: row[1]})
CREATE (a)-[:TYPE {similarity: row[2], since: $revision}]->(b)
""".replace("TYPE", type)
    for type in ("SIMILAR", "SPANS")
)

# Deleting the newest revision of a graph: the graph is that of revision $newest again.

REVERT_RELATIONSHIPS = [
    statement.replace("TYPE", type)
    for type in ("SIMILAR", "SPANS")
    for statement in (
        """
MATCH (i:{label} {graph: $graph})-[r:TYPE|FORMER_TYPE]->() WHERE i.id IS NOT NULL AND r.since > $newest DELETE r
""",
        """
MATCH (i:{label} {graph: $graph})-[r:FORMER_TYPE]->(b) WHERE i.id IS NOT NULL AND r.until > $newest
CREATE (i)-[:TYPE {similarity: r.similarity, since: r.since}]->(b) DELETE r
""",
    )
]

REVERT_NODES = [
    f"""
MATCH (f:{Label.FORMER_NAMES}) WHERE f.graph = $graph AND f.id >= 0 AND f.until > $newest
WITH f.id AS id, f ORDER BY f.until
WITH id, collect(f) AS former
MATCH (i:{{label}} {{graph: $graph, id: id}})
SET i.names = former[0].names, i.name = former[0].name
FOREACH (f IN former | DELETE f)
""",
    f"MATCH (n:{Label.NAME}) WHERE n.graph = $graph AND n.digest IS NOT NULL AND n.since > $newest DELETE n",
    f"MATCH (r:{Label.REJECTION}) WHERE r.graph = $graph AND r.n >= $rejected DELETE r",
    f"MATCH (b:{Label.FINGERPRINTS}) WHERE b.graph = $graph AND b.start >= $first DELETE b",
]

# Reading a generation. Each statement returns one row, because one row with all values is read several times faster
# than one row for each item. Its column `living` is false once the generation is deleted: a reader then discards the
# row. This column is evaluated last, so that nothing is read after it.

_LIVING = (
    f"EXISTS {{ (g:{Label.GENERATION}) WHERE g.graph = $graph AND g.revision = $revision AND g.deletedAt IS NULL }} "
    "AS living"
)
LIVING = f"RETURN {_LIVING}"
_ROW = f"RETURN *, {_LIVING}"
_SEEN = "coalesce(r.since, 0) <= $revision AND coalesce(r.until, $revision + 1) > $revision"
_DEGREE = f"COUNT {{ (i)-[r:SIMILAR|FORMER_SIMILAR]-() WHERE {_SEEN} }}"
# The names that an item `i` had before a later revision added some, else null.
_FORMER = f"""COLLECT {{
  MATCH (f:{Label.FORMER_NAMES} {{graph: $graph, id: i.id}}) WHERE f.until > $revision
  RETURN f.names ORDER BY f.until LIMIT 1
}}[0]"""


def _items(condition: str, *others: str) -> str:
    """Return a statement that reads the items `i` that meet a condition, and other columns of them.

    An append that takes place meanwhile, or its deletion, changes names. So the names before later revisions, of which
    the last ones of an item count, are read before and after the items. Each part takes a column of the part before, so
    that the server runs them in this order.
    """
    former_names = f"""
  MATCH (i:{Label.FORMER_NAMES}) WHERE i.graph = $graph AND {condition} AND i.until > $revision
  WITH i ORDER BY i.until DESC RETURN collect([i.id, i.names])"""
    columns = ", ".join(["collect([i.id, [key IN $keys | i[key]]]) AS rows", *others])
    return f"""
CALL () {{{former_names} AS earlier
}}
CALL (earlier) {{
  MATCH (i:{{label}}) WHERE i.graph = $graph AND {condition}
  RETURN {columns}
}}
CALL (rows) {{{former_names} AS later
}}
{_ROW}
"""


SCAN = _items("i.id >= $start AND i.id < $stop")
TAKE = _items("i.id IN $ids")
TAKE_WITH_DEGREES = _items("i.id IN $ids", f"collect({_DEGREE}) AS degrees")
FIND_SMILES = f"""
MATCH (i:{{label}} {{graph: $graph, smiles: $value}}) WHERE i.id > $after AND i.id < $size
WITH i.id AS id ORDER BY id LIMIT $limit
WITH collect(id) AS ids {_ROW}
"""
FIND_LONG_SMILES = f"""
MATCH (i:{{label}} {{graph: $graph}}) WHERE i.id > $after AND i.id < $size AND i.long_smiles = $value
WITH i.id AS id ORDER BY id LIMIT $limit
WITH collect(id) AS ids {_ROW}
"""
FIND_INCHIKEY = f"""
MATCH (i:{{label}} {{graph: $graph, inchikey: $value}}) WHERE i.id > $after AND i.id < $size
WITH i.id AS id ORDER BY id LIMIT $limit
WITH collect(id) AS ids {_ROW}
"""
FIND_NAME = f"""
MATCH (n:{Label.NAME}) WHERE n.graph = $graph AND n.digest = $digest AND n.id > $after AND n.id < $size
MATCH (i:{{label}}) WHERE i.graph = $graph AND i.id = n.id
WITH i, coalesce({_FORMER}, i.names) AS names WHERE $value IN names
WITH DISTINCT i.id AS id ORDER BY id LIMIT $limit
WITH collect(id) AS ids {_ROW}
"""
FIND_NAME_IN_ANY_CASE = f"""
MATCH (i:{{label}}) WHERE i.graph = $graph AND i.id > $after AND i.id < $size
  AND any(n IN i.names WHERE toLower(n) = toLower($value))
WITH i, coalesce({_FORMER}, i.names) AS names WHERE any(n IN names WHERE toLower(n) = toLower($value))
WITH i.id AS id ORDER BY id LIMIT $limit
WITH collect(id) AS ids {_ROW}
"""
SIMILAR_NAMES = f"""
MATCH (i:{{label}}) WHERE i.graph = $graph AND i.id >= 0 AND i.id < $size
WITH coalesce({_FORMER}, i.names) AS names UNWIND names AS name
WITH name, toLower(name) AS lower WHERE lower STARTS WITH $beginning OR lower ENDS WITH $ending
WITH name LIMIT $limit
WITH collect(name) AS names {_ROW}
"""
NEIGHBORS = f"""
MATCH (:{{label}} {{graph: $graph, id: $id}})-[r:SIMILAR|FORMER_SIMILAR]-(b)
WHERE r.similarity >= $threshold AND {_SEEN}
WITH b.id AS id, r.similarity AS similarity ORDER BY similarity DESC, id
WITH collect(id) AS ids, collect(similarity) AS similarity
WITH ids[$offset..$stop] AS ids, similarity[$offset..$stop] AS similarity, size(ids) AS total {_ROW}
"""
_COLUMNS = "collect(a.id) AS source, collect(b.id) AS target, collect(r.similarity) AS similarity"
ROWS = f"""
MATCH (a:{{label}})-[r:SIMILAR|FORMER_SIMILAR]-(b)
WHERE a.graph = $graph AND a.id IN $ids AND r.similarity >= $threshold AND {_SEEN}
WITH {_COLUMNS} {_ROW}
"""
EDGES = f"""
MATCH (a:{{label}})-[r:SIMILAR|FORMER_SIMILAR]->(b)
WHERE a.graph = $graph AND a.id >= $start AND a.id < $stop AND r.similarity >= $threshold AND {_SEEN}
WITH {_COLUMNS} {_ROW}
"""
EDGES_FROM = f"""
MATCH (a:{{label}})-[r:SIMILAR|FORMER_SIMILAR]->(b)
WHERE a.graph = $graph AND a.id IN $ids AND r.similarity >= $threshold AND {_SEEN}
WITH {_COLUMNS} {_ROW}
"""
FOREST = f"""
MATCH (a:{{label}})-[r:SPANS|FORMER_SPANS]->(b)
WHERE a.graph = $graph AND a.id >= $start AND a.id < $stop AND {_SEEN}
WITH {_COLUMNS} {_ROW}
"""
LINKS = f"""
MATCH (a:{{label}})-[:LINKED]->(b) WHERE a.graph = $graph AND a.id >= $start AND a.id < $stop
WITH collect(a.id) AS source, collect(b.id) AS target {_ROW}
"""
FINGERPRINTS = f"""
MATCH (b:{Label.FINGERPRINTS}) WHERE b.graph = $graph AND b.start >= $start AND b.start < $stop
WITH b ORDER BY b.start
WITH collect(b.words) AS blocks {_ROW}
"""
TRUNCATED = f"""
MATCH (b:{Label.TRUNCATED}) WHERE b.graph = $graph AND b.revision = $revision AND b.start >= $start AND b.start < $stop
WITH b ORDER BY b.start
WITH collect(b.counts) AS blocks {_ROW}
"""
REJECTIONS = f"""
MATCH (r:{Label.REJECTION}) WHERE r.graph = $graph AND r.n >= $start AND r.n < $stop
WITH r ORDER BY r.n
WITH collect(r {{.source, .line, .input, .reason}}) AS rows {_ROW}
"""

# Random walks on a generation with GDS

DEGREES = f"""
MATCH (i:{{label}}) WHERE i.graph = $graph AND i.id >= $start AND i.id < $stop
WITH collect(i.id) AS ids, collect({_DEGREE}) AS degrees {_ROW}
"""
# The server locks a node that a transaction writes to, so the generation cannot be deleted before the transaction ends.
LOCK_GENERATION = f"""
MATCH (g:{Label.GENERATION} {{graph: $graph}}) WHERE g.revision = $revision SET g.lock = true REMOVE g.lock
WITH g WHERE g.deletedAt IS NULL RETURN g.generation AS generation
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
PROJECT = f"""
MATCH (a:{{label}} {{graph: $graph}}) WHERE a.id >= 0 AND a.id < $size
OPTIONAL MATCH (a)-[r:SIMILAR|FORMER_SIMILAR]->(b) WHERE {_SEEN}
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
WITH *, [part IN split(substring(graphName, size($prefix)), '-') | toInteger(part)] AS number
OPTIONAL MATCH (g:{Label.GENERATION} {{graph: number[0]}}) WHERE g.revision = number[1] AND g.deletedAt IS NULL
OPTIONAL MATCH (c:{Label.COLLECTION} {{name: g.collection, current: g.generation}})
RETURN graphName AS name, g.collection AS collection, g.generation AS generation, c IS NOT NULL AS current,
       nodeCount AS items, relationshipCount / 2 AS edges, sizeInBytes AS bytes, toString(creationTime) AS created_at
ORDER BY collection, created_at
"""
DROP_PROJECTION = "CALL gds.graph.drop($name, false) YIELD graphName RETURN graphName"

# Embeddings of items. `embeddings.Place` chooses label, index and property, which are names in backticks. The record of
# an embedding is complete only once every vector is written and the index answers.

EMBEDDING_SCHEMA = f"""CREATE CONSTRAINT graphkin_v6_embedding IF NOT EXISTS
FOR (e:{Label.EMBEDDING}) REQUIRE (e.collection, e.property) IS UNIQUE"""
START_EMBEDDING = f"""
MERGE (e:{Label.EMBEDDING} {{collection: $collection, property: $property}})
SET e.graphs = [each IN coalesce(e.graphs, []) WHERE each <> $graph] + $graph
SET e.run = $run, e.index = $index, e.complete = false
REMOVE e.generation, e.dimensions, e.items, e.encoder, e.writtenAt
RETURN e.graphs AS graphs
"""
# The server locks a node that a transaction writes to, so another run cannot take over before the transaction ends.
HOLD_EMBEDDING = f"""
MATCH (e:{Label.EMBEDDING} {{collection: $collection, property: $property}}) SET e.lock = true REMOVE e.lock
WITH e WHERE e.run = $run RETURN e.index AS index
"""
SET_VECTORS = """
UNWIND $rows AS row MATCH (i:{label} {graph: $graph, id: row[0]}) SET i:{place}
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
OPTIONS {indexConfig: {`vector.dimensions`: {dimensions}, `vector.similarity_function`: 'cosine',
                        `vector.quantization.enabled`: false}}
"""
DROP_INDEX = "DROP INDEX {index} IF EXISTS"
AWAIT_INDEX = "CALL db.awaitIndex($index, $seconds)"
COMPLETE_EMBEDDING = f"""
MATCH (e:{Label.EMBEDDING} {{collection: $collection, property: $property}}) WHERE e.run = $run
SET e += $record, e.graphs = [$graph], e.complete = true REMOVE e.run
RETURN e.index AS index
"""
EMBEDDING_PROPERTIES = f"""
MATCH (e:{Label.EMBEDDING}) WHERE e.collection = $collection AND e.property IS NOT NULL RETURN e.property AS property
"""
EMBEDDINGS_OF = f"""
MATCH (e:{Label.EMBEDDING} {{collection: $collection}}) WHERE $graph IN e.graphs
RETURN e.property AS property, e.index AS index, e.graphs = [$graph] AS is_last
"""
FORGET_RUN = f"MATCH (e:{Label.EMBEDDING} {{collection: $collection, property: $property}}) WHERE e.run = $run DELETE e"
FORGET_EMBEDDING = f"""
MATCH (e:{Label.EMBEDDING} {{collection: $collection, property: $property}})
SET e.graphs = [each IN e.graphs WHERE each <> $graph] WITH e WHERE size(e.graphs) = 0 DELETE e
"""
