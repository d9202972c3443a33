// The same two collections as graphkin wrote them into Neo4j in schema version 3.
CREATE CONSTRAINT `graphkin_store` FOR (n:`Graphkin`) REQUIRE (n.`name`) IS UNIQUE;
CREATE CONSTRAINT `graphkin_v3_batch` FOR (n:`GraphkinBatch`) REQUIRE (n.`graph`, n.`n`) IS UNIQUE;
CREATE CONSTRAINT `graphkin_v3_collection` FOR (n:`GraphkinCollection`) REQUIRE (n.`name`) IS UNIQUE;
CREATE CONSTRAINT `graphkin_v3_draft` FOR (n:`GraphkinDraft`) REQUIRE (n.`collection`) IS UNIQUE;
CREATE CONSTRAINT `graphkin_v3_generation` FOR (n:`GraphkinGeneration`) REQUIRE (n.`collection`, n.`generation`) IS UNIQUE;
CREATE CONSTRAINT `graphkin_v3_graph` FOR (n:`GraphkinGraph`) REQUIRE (n.`graph`, n.`id`) IS UNIQUE;
CREATE CONSTRAINT `graphkin_v3_molecule` FOR (n:`GraphkinMolecule`) REQUIRE (n.`graph`, n.`id`) IS UNIQUE;
CREATE CONSTRAINT `graphkin_v3_rejection` FOR (n:`GraphkinRejection`) REQUIRE (n.`graph`, n.`n`) IS UNIQUE;
CREATE RANGE INDEX `graphkin_v3_generation_graph` FOR (n:`GraphkinGeneration`) ON (n.`graph`);
CREATE RANGE INDEX `graphkin_v3_graph_digest` FOR (n:`GraphkinGraph`) ON (n.`graph`, n.`digest`);
CREATE RANGE INDEX `graphkin_v3_graph_inchikey` FOR (n:`GraphkinGraph`) ON (n.`graph`, n.`inchikey`);
CREATE RANGE INDEX `graphkin_v3_molecule_digest` FOR (n:`GraphkinMolecule`) ON (n.`graph`, n.`digest`);
CREATE RANGE INDEX `graphkin_v3_molecule_inchikey` FOR (n:`GraphkinMolecule`) ON (n.`graph`, n.`inchikey`);
CREATE RANGE INDEX `graphkin_v3_name` FOR (n:`GraphkinName`) ON (n.`graph`, n.`digest`);
CREATE (n0:Graphkin {name: "schema", position: 2, version: 3}),
       (n2:GraphkinBatch {graph: "746d40a0a71792123b9d29f2074c8575", n: 0}),
       (n16:GraphkinBatch {graph: "746d40a0a71792123b9d29f2074c8575", n: 1}),
       (n18:GraphkinBatch {graph: "746d40a0a71792123b9d29f2074c8575", n: 2}),
       (n19:GraphkinBatch {graph: "746d40a0a71792123b9d29f2074c8575", n: 3}),
       (n20:GraphkinBatch {graph: "746d40a0a71792123b9d29f2074c8575", n: 4}),
       (n21:GraphkinBatch {graph: "746d40a0a71792123b9d29f2074c8575", n: 5}),
       (n24:GraphkinBatch {graph: "1a1565722083506e8529d1c861342b5a", n: 0}),
       (n31:GraphkinBatch {graph: "1a1565722083506e8529d1c861342b5a", n: 1}),
       (n32:GraphkinBatch {graph: "1a1565722083506e8529d1c861342b5a", n: 2}),
       (n33:GraphkinBatch {graph: "1a1565722083506e8529d1c861342b5a", n: 3}),
       (n34:GraphkinBatch {graph: "1a1565722083506e8529d1c861342b5a", n: 4}),
       (n23:GraphkinCollection {current: "37be848dbe653a851ea2035570d46faa4c3b466be76b3ef4353b228e3496ce12", kind: "molecule", name: "alcohols"}),
       (n36:GraphkinCollection {current: "a45941430320ba02de70340f7b938abc772255512518b91b490b0d17a0305de9", kind: "graph", name: "small"}),
       (n22:GraphkinGeneration {collection: "alcohols", generation: "37be848dbe653a851ea2035570d46faa4c3b466be76b3ef4353b228e3496ce12", graph: "746d40a0a71792123b9d29f2074c8575", manifest: "{\"kind\":\"molecule\",\"structure\":\"smiles\",\"recipe\":{\"schema_version\":1,\"candidates\":\"exact\",\"ties\":\"hash\",\"tie_seed\":0,\"threshold\":0.3,\"top_k\":70,\"standardise\":[],\"inchikey\":true,\"fingerprint\":{\"name\":\"morgan\",\"radius\":2,\"bits\":512,\"chirality\":false}},\"versions\":{\"rdkit\":\"2026.09.1\",\"graphkin\":\"0.2.0\",\"numpy\":\"2.4.6\",\"numba\":\"0.68.1\",\"pyarrow\":\"26.0.1\"},\"inputs\":[{\"name\":\"alcohols.csv\",\"bytes\":242,\"sha256\":\"a764ab477e900b2854bf6918a52879a57e6f574fc475cdeafe2ef94dfd8aea9e\"}],\"counts\":{\"read\":8,\"kept\":6,\"duplicates\":1,\"rejected\":1},\"edges\":3,\"dropped\":0,\"properties\":{\"heavy_atoms\":\"number\",\"logP\":\"number\",\"molwt\":\"number\",\"names\":\"number\",\"note\":\"text\",\"rings\":\"number\"},\"histograms\":{\"degree\":{\"edges\":[0.0,1.0,2.0,4.0],\"counts\":[3,0,3]},\"similarity\":{\"edges\":[0.30000001192092896,0.33500000834465027,0.3700000047683716,0.4050000309944153,0.4399999976158142,0.4750000238418579,0.5099999904632568,0.5450000166893005,0.5800000429153442,0.6150000095367432,0.6499999761581421,0.6850000023841858,0.7200000286102295,0.7549999952316284,0.7900000214576721,0.824999988079071,0.8600000143051147,0.8950000405311584,0.9300000071525574,0.9650000333786011,1.0],\"counts\":[0,0,0,1,0,0,0,1,1,0,0,0,0,0,0,0,0,0,0,0]}},\"times\":{\"compile\":0.944,\"parse\":1.663,\"items\":0.008,\"index\":0.001,\"join\":0.015,\"cap\":0.0,\"write\":0.001},\"generation\":\"37be848dbe653a851ea2035570d46faa4c3b466be76b3ef4353b228e3496ce12\",\"published_at\":\"2026-11-23T12:52:30+00:00\",\"files\":{}}", position: 1}),
       (n35:GraphkinGeneration {collection: "small", generation: "a45941430320ba02de70340f7b938abc772255512518b91b490b0d17a0305de9", graph: "1a1565722083506e8529d1c861342b5a", manifest: "{\"kind\":\"graph\",\"structure\":\"structure\",\"recipe\":{\"schema_version\":1,\"candidates\":\"exact\",\"ties\":\"hash\",\"tie_seed\":0,\"threshold\":0.3,\"top_k\":70,\"labels\":\"degree\",\"iterations\":3,\"closeness\":10,\"kernel\":\"wl\"},\"versions\":{\"graphkin\":\"0.2.0\",\"numpy\":\"2.4.6\",\"numba\":\"0.68.1\",\"pyarrow\":\"26.0.1\"},\"inputs\":[{\"name\":\"small.jsonl\",\"bytes\":224,\"sha256\":\"685cda4acc792ca064eaf0ec45ead6c3f907d302030172cf1ed7185236f6777e\"}],\"counts\":{\"read\":3,\"kept\":3,\"duplicates\":0,\"rejected\":0},\"edges\":1,\"dropped\":0,\"properties\":{\"class\":\"number\",\"edges\":\"number\",\"nodes\":\"number\",\"repeated_edges\":\"number\",\"self_loops\":\"number\"},\"histograms\":{\"degree\":{\"edges\":[0.0,1.0,2.0],\"counts\":[1,2]},\"similarity\":{\"edges\":[0.30000001192092896,0.33500000834465027,0.3700000047683716,0.4050000309944153,0.4399999976158142,0.4750000238418579,0.5099999904632568,0.5450000166893005,0.5800000429153442,0.6150000095367432,0.6499999761581421,0.6850000023841858,0.7200000286102295,0.7549999952316284,0.7900000214576721,0.824999988079071,0.8600000143051147,0.8950000405311584,0.9300000071525574,0.9650000333786011,1.0],\"counts\":[0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,1]}},\"times\":{\"compile\":0.027,\"parse\":0.823,\"items\":0.006,\"index\":0.006,\"join\":0.002,\"cap\":0.0,\"write\":0.005},\"generation\":\"a45941430320ba02de70340f7b938abc772255512518b91b490b0d17a0305de9\",\"published_at\":\"2026-11-23T12:52:32+00:00\",\"files\":{}}", position: 2}),
       (n25:GraphkinGraph {dropped: 0, fingerprint: [], graph: "1a1565722083506e8529d1c861342b5a", id: 0, names: ["p3"], properties: "{\"class\": 1, \"edges\": 2, \"nodes\": 3, \"repeated_edges\": 0, \"self_loops\": 0}", structure: "{\"num_nodes\":3,\"edges\":[[0,1],[1,2]]}"}),
       (n26:GraphkinGraph {dropped: 0, fingerprint: [], graph: "1a1565722083506e8529d1c861342b5a", id: 1, names: ["p3 again"], properties: "{\"class\": 2, \"edges\": 2, \"nodes\": 3, \"repeated_edges\": 0, \"self_loops\": 0}", structure: "{\"num_nodes\":3,\"edges\":[[0,2],[1,2]]}"}),
       (n27:GraphkinGraph {dropped: 0, fingerprint: [], graph: "1a1565722083506e8529d1c861342b5a", id: 2, names: ["k3"], properties: "{\"class\": 1, \"edges\": 3, \"nodes\": 3, \"repeated_edges\": 0, \"self_loops\": 0}", structure: "{\"num_nodes\":3,\"edges\":[[0,1],[0,2],[1,2]]}"}),
       (n3:GraphkinMolecule {digest: "0c06e880517ec7d4bb17db19c33d30e1", dropped: 0, fingerprint: [8589934592, 65536, 0, 1073741824, 824633720832, 0, 4, 0], graph: "746d40a0a71792123b9d29f2074c8575", id: 0, inchikey: "LFQSCWFLJHTTHZ-UHFFFAOYSA-N", names: ["ethanol", "alcohol"], properties: "{\"heavy_atoms\": 3, \"logP\": -0.31, \"molwt\": 46.069, \"names\": 7, \"note\": \"said \\\"to burn\\\"\", \"rings\": 0}", smiles: "CCO"}),
       (n4:GraphkinMolecule {digest: "40d15d23470f33ffa4738fc51579871e", dropped: 0, fingerprint: [8589934592, 65536, 0, 2305843010287435776, 824700829696, 0, 0, 33554432], graph: "746d40a0a71792123b9d29f2074c8575", id: 1, inchikey: "BDERNNFJNOPAEC-UHFFFAOYSA-N", names: ["propanol"], properties: "{\"heavy_atoms\": 4, \"logP\": 0.25, \"molwt\": 60.096, \"names\": 1, \"rings\": 0}", smiles: "CCCO"}),
       (n5:GraphkinMolecule {digest: "2a31c7212fb11903d55fd553a9113a0b", dropped: 0, fingerprint: [8589934594, 0, 0, 34359738400, 549890031616, 0, 0, 0], graph: "746d40a0a71792123b9d29f2074c8575", id: 2, inchikey: "KFZMGEQAYNKOFK-UHFFFAOYSA-N", names: ["Z\u00fcrich \u6771\u4eac"], properties: "{\"heavy_atoms\": 4, \"logP\": 0.05, \"molwt\": 60.096, \"names\": 2, \"note\": \"na\u00efve\", \"rings\": 0}", smiles: "CC(C)O"}),
       (n6:GraphkinMolecule {digest: "b1e793d1c8ab1d2d1561dcd896da84d6", dropped: 0, fingerprint: [288230384741646336, 4398046609408, 0, 1073741824, 824700829696, 36028797018963968, 0, 33554432], graph: "746d40a0a71792123b9d29f2074c8575", id: 3, inchikey: "LRHPLDYGYMQRHN-UHFFFAOYSA-N", names: ["butanol"], properties: "{\"heavy_atoms\": 5, \"logP\": 1.5, \"molwt\": 74.123, \"note\": \"007\", \"rings\": 0}", smiles: "CCCCO"}),
       (n7:GraphkinMolecule {digest: "ce825189f21df6dc0a1575b7d9cfe961", dropped: 0, fingerprint: [0, 1, 0, 0, 0, 131072, 32, 0], graph: "746d40a0a71792123b9d29f2074c8575", id: 4, inchikey: "UHOVQNZJYSORNB-UHFFFAOYSA-N", names: ["benzene"], properties: "{\"heavy_atoms\": 6, \"logP\": 2.13, \"molwt\": 78.114, \"rings\": 1}", smiles: "c1ccccc1"}),
       (n8:GraphkinMolecule {digest: "28f169155e3aa33ad450b13ea133437b", dropped: 0, fingerprint: [10737418240, 1, 288371113640067072, 4194304, 2147483648, 68719607808, 33, 0], graph: "746d40a0a71792123b9d29f2074c8575", id: 5, inchikey: "YXFVVABEGXRONW-UHFFFAOYSA-N", names: ["toluene"], properties: "{\"heavy_atoms\": 7, \"molwt\": 92.141, \"names\": 3, \"note\": \"two\\nlines\", \"rings\": 1}", smiles: "Cc1ccccc1"}),
       (n9:GraphkinName {digest: "3c9b61fa3c2c45b3b5f48f77ed992a33", graph: "746d40a0a71792123b9d29f2074c8575", id: 0}),
       (n10:GraphkinName {digest: "ed45ed064f3a3c1bbf1284ab0bbee291", graph: "746d40a0a71792123b9d29f2074c8575", id: 0}),
       (n11:GraphkinName {digest: "c9ecb6a62dc0b48157b22b056ba39282", graph: "746d40a0a71792123b9d29f2074c8575", id: 1}),
       (n12:GraphkinName {digest: "43e1938da84a56af3667afac7be632b6", graph: "746d40a0a71792123b9d29f2074c8575", id: 2}),
       (n13:GraphkinName {digest: "0c96f274f16fcb20befd8bc54faf04a9", graph: "746d40a0a71792123b9d29f2074c8575", id: 3}),
       (n14:GraphkinName {digest: "ddcbbfa5d3fbbb23046b42a201ececdc", graph: "746d40a0a71792123b9d29f2074c8575", id: 4}),
       (n15:GraphkinName {digest: "169e3d30ee112b68902d89fc29485a2e", graph: "746d40a0a71792123b9d29f2074c8575", id: 5}),
       (n28:GraphkinName {digest: "e61bacdb7dd2dbc69c4423fed67eaf51", graph: "1a1565722083506e8529d1c861342b5a", id: 0}),
       (n29:GraphkinName {digest: "fcfbc996514bb2d98358a6e83ef4f633", graph: "1a1565722083506e8529d1c861342b5a", id: 1}),
       (n30:GraphkinName {digest: "b78a522842df32ef443c5ca3f7d086e7", graph: "1a1565722083506e8529d1c861342b5a", id: 2}),
       (n17:GraphkinRejection {graph: "746d40a0a71792123b9d29f2074c8575", input: "nonsense", line: 10, n: 0, reason: "SMILES Parse Error: syntax error while parsing: nonsense; SMILES Parse Error: check for mistakes around position 5:", source: "alcohols.csv"}),
       (n3)-[:SIMILAR {similarity: 0.5555556}]->(n4),
       (n3)-[:SPANS {similarity: 0.5555556}]->(n4),
       (n3)-[:SIMILAR {similarity: 0.41666666}]->(n6),
       (n4)-[:SIMILAR {similarity: 0.5833333}]->(n6),
       (n4)-[:SPANS {similarity: 0.5833333}]->(n6),
       (n23)-[:HAS]->(n22),
       (n25)-[:SIMILAR {similarity: 1.0}]->(n26),
       (n25)-[:SPANS {similarity: 1.0}]->(n26),
       (n36)-[:HAS]->(n35);
