// A store as graphkin wrote it in schema version 2: two generations of `mine`, the first deleted, and what a draft of
// `other` left that died, and whose successor died before it had swept.
CREATE CONSTRAINT graphkin_batch FOR (n:Batch) REQUIRE (n.graph, n.n) IS UNIQUE;
CREATE CONSTRAINT graphkin_collection FOR (n:Collection) REQUIRE (n.name) IS UNIQUE;
CREATE CONSTRAINT graphkin_draft FOR (n:Draft) REQUIRE (n.collection) IS UNIQUE;
CREATE CONSTRAINT graphkin_generation FOR (n:Generation) REQUIRE (n.collection, n.generation) IS UNIQUE;
CREATE CONSTRAINT graphkin_graph FOR (n:Graph) REQUIRE (n.graph, n.id) IS UNIQUE;
CREATE CONSTRAINT graphkin_molecule FOR (n:Molecule) REQUIRE (n.graph, n.id) IS UNIQUE;
CREATE CONSTRAINT graphkin_node FOR (n:Node) REQUIRE (n.graph, n.id) IS UNIQUE;
CREATE CONSTRAINT graphkin_rejection FOR (n:Rejection) REQUIRE (n.graph, n.n) IS UNIQUE;
CREATE CONSTRAINT graphkin_store FOR (n:Graphkin) REQUIRE (n.name) IS UNIQUE;
CREATE RANGE INDEX graphkin_generation_graph FOR (n:Generation) ON (n.graph);
CREATE RANGE INDEX graphkin_graph_digest FOR (n:Graph) ON (n.graph, n.digest);
CREATE RANGE INDEX graphkin_graph_inchikey FOR (n:Graph) ON (n.graph, n.inchikey);
CREATE RANGE INDEX graphkin_molecule_digest FOR (n:Molecule) ON (n.graph, n.digest);
CREATE RANGE INDEX graphkin_molecule_inchikey FOR (n:Molecule) ON (n.graph, n.inchikey);
CREATE RANGE INDEX graphkin_name FOR (n:Name) ON (n.graph, n.digest);
CREATE RANGE INDEX graphkin_node_digest FOR (n:Node) ON (n.graph, n.digest);
CREATE RANGE INDEX graphkin_node_inchikey FOR (n:Node) ON (n.graph, n.inchikey);
CREATE
  (n0:Batch {graph: '894684bc05a05ae2024f336f954076b0', n: 0}),
  (n1:Batch {graph: '9bcaeca9a5fbec30874504e1ca5c412c', n: 0}),
  (n2:Batch {graph: '9bcaeca9a5fbec30874504e1ca5c412c', n: 1}),
  (n3:Batch {graph: '9bcaeca9a5fbec30874504e1ca5c412c', n: 2}),
  (n4:Batch {graph: '9bcaeca9a5fbec30874504e1ca5c412c', n: 3}),
  (n5:Batch {graph: '9bcaeca9a5fbec30874504e1ca5c412c', n: 4}),
  (n6:Batch {graph: '9bcaeca9a5fbec30874504e1ca5c412c', n: 5}),
  (n7:Batch {graph: '894684bc05a05ae2024f336f954076b0', n: 1}),
  (n8:Batch {graph: '894684bc05a05ae2024f336f954076b0', n: 2}),
  (n9:Batch {graph: '894684bc05a05ae2024f336f954076b0', n: 3}),
  (n10:Batch {graph: '894684bc05a05ae2024f336f954076b0', n: 4}),
  (n11:Batch {graph: '894684bc05a05ae2024f336f954076b0', n: 5}),
  (n12:Collection {current: '052eb8abc857f6783fb2c85661a7fbd242d00bd261abd1f699017f6c7d9f0f02', kind: 'molecule', name: 'mine'}),
  (n13:Draft {collection: 'other', graph: '7f3d0c2b9e5a4168b0d1c3e5f7a9b2d4', leftovers: ['894684bc05a05ae2024f336f954076b0'], until: 1795392887782}),
  (n14:Generation {collection: 'mine', generation: '052eb8abc857f6783fb2c85661a7fbd242d00bd261abd1f699017f6c7d9f0f02', graph: '9bcaeca9a5fbec30874504e1ca5c412c', manifest: '{"kind":"molecule","recipe":{"threshold":0.4},"versions":{"rdkit":"2026.09.1"},"inputs":[{"name":"made-up.smi","bytes":1,"sha256":"0000000000000000000000000000000000000000000000000000000000000000"}],"counts":{"read":4,"kept":3,"duplicates":0,"rejected":1},"edges":2,"dropped":0,"properties":{},"histograms":{"degree":{"edges":[0.0,1.0,2.0,3.0],"counts":[0,2,1]},"similarity":{"edges":[0.4,1.0],"counts":[2]}},"times":{"all":1.0},"generation":"052eb8abc857f6783fb2c85661a7fbd242d00bd261abd1f699017f6c7d9f0f02","published_at":"2026-11-23T00:13:45+00:00","files":{}}', position: 2}),
  (n15:Generation {collection: 'mine', deleted_at: '2026-11-23T00:13:45+00:00', generation: '323f24dd5fd11e50e5f5e800ca8b35e0b9fc4ae1de5bf7b415fe49bfcf7a59a1', manifest: '{"kind":"molecule","recipe":{"threshold":0.3},"versions":{"rdkit":"2026.09.1"},"inputs":[{"name":"made-up.smi","bytes":1,"sha256":"0000000000000000000000000000000000000000000000000000000000000000"}],"counts":{"read":4,"kept":3,"duplicates":0,"rejected":1},"edges":2,"dropped":0,"properties":{},"histograms":{"degree":{"edges":[0.0,1.0,2.0,3.0],"counts":[0,2,1]},"similarity":{"edges":[0.4,1.0],"counts":[2]}},"times":{"all":1.0},"generation":"323f24dd5fd11e50e5f5e800ca8b35e0b9fc4ae1de5bf7b415fe49bfcf7a59a1","published_at":"2026-11-23T00:13:43+00:00","files":{}}', position: 1}),
  (n16:Graphkin {name: 'schema', position: 2, version: 2}),
  (n17:Molecule {digest: '0c06e880517ec7d4bb17db19c33d30e1', dropped: 0, fingerprint: [0, 0], graph: '894684bc05a05ae2024f336f954076b0', id: 0, names: ['ethanol'], properties: '{}', smiles: 'CCO'}),
  (n18:Molecule {digest: '40d15d23470f33ffa4738fc51579871e', dropped: 0, fingerprint: [1, -7046029254386353131], graph: '894684bc05a05ae2024f336f954076b0', id: 1, names: ['propanol', 'alcohol'], properties: '{}', smiles: 'CCCO'}),
  (n19:Molecule {digest: '01a78cab0ea0f5e33c7ed7f890f1c633', dropped: 0, fingerprint: [2, 4354685564936845354], graph: '894684bc05a05ae2024f336f954076b0', id: 2, names: [], properties: '{}', smiles: 'CO'}),
  (n20:Molecule {digest: '0c06e880517ec7d4bb17db19c33d30e1', dropped: 0, fingerprint: [0, 0], graph: '9bcaeca9a5fbec30874504e1ca5c412c', id: 0, names: ['ethanol'], properties: '{}', smiles: 'CCO'}),
  (n21:Molecule {digest: '40d15d23470f33ffa4738fc51579871e', dropped: 0, fingerprint: [1, -7046029254386353131], graph: '9bcaeca9a5fbec30874504e1ca5c412c', id: 1, names: ['propanol', 'alcohol'], properties: '{}', smiles: 'CCCO'}),
  (n22:Molecule {digest: '01a78cab0ea0f5e33c7ed7f890f1c633', dropped: 0, fingerprint: [2, 4354685564936845354], graph: '9bcaeca9a5fbec30874504e1ca5c412c', id: 2, names: [], properties: '{}', smiles: 'CO'}),
  (n23:Name {digest: '3c9b61fa3c2c45b3b5f48f77ed992a33', graph: '894684bc05a05ae2024f336f954076b0', id: 0}),
  (n24:Name {digest: 'c9ecb6a62dc0b48157b22b056ba39282', graph: '894684bc05a05ae2024f336f954076b0', id: 1}),
  (n25:Name {digest: 'ed45ed064f3a3c1bbf1284ab0bbee291', graph: '894684bc05a05ae2024f336f954076b0', id: 1}),
  (n26:Name {digest: '3c9b61fa3c2c45b3b5f48f77ed992a33', graph: '9bcaeca9a5fbec30874504e1ca5c412c', id: 0}),
  (n27:Name {digest: 'c9ecb6a62dc0b48157b22b056ba39282', graph: '9bcaeca9a5fbec30874504e1ca5c412c', id: 1}),
  (n28:Name {digest: 'ed45ed064f3a3c1bbf1284ab0bbee291', graph: '9bcaeca9a5fbec30874504e1ca5c412c', id: 1}),
  (n29:Rejection {graph: '9bcaeca9a5fbec30874504e1ca5c412c', input: 'C1CC', line: 4, n: 0, reason: 'unclosed ring', source: 'x.smi'}),
  (n30:Rejection {graph: '894684bc05a05ae2024f336f954076b0', input: 'C1CC', line: 4, n: 0, reason: 'unclosed ring', source: 'x.smi'}),
  (n12)-[:HAS]->(n14),
  (n12)-[:HAS]->(n15),
  (n17)-[:SIMILAR {similarity: 0.44999998807907104}]->(n18),
  (n17)-[:SIMILAR {similarity: 0.699999988079071}]->(n19),
  (n20)-[:SIMILAR {similarity: 0.44999998807907104}]->(n21),
  (n20)-[:SIMILAR {similarity: 0.699999988079071}]->(n22),
  (n17)-[:SPANS {similarity: 0.44999998807907104}]->(n18),
  (n17)-[:SPANS {similarity: 0.699999988079071}]->(n19),
  (n20)-[:SPANS {similarity: 0.44999998807907104}]->(n21),
  (n20)-[:SPANS {similarity: 0.699999988079071}]->(n22);
