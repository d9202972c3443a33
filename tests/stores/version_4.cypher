// A collection as graphkin wrote it into Neo4j in schema version 4, whose items had no `name`: theirs is the source's own.
CREATE CONSTRAINT `graphkin_store` FOR (n:`Graphkin`) REQUIRE (n.`name`) IS UNIQUE;
CREATE CONSTRAINT `graphkin_v3_batch` FOR (n:`GraphkinBatch`) REQUIRE (n.`graph`, n.`n`) IS UNIQUE;
CREATE CONSTRAINT `graphkin_v3_collection` FOR (n:`GraphkinCollection`) REQUIRE (n.`name`) IS UNIQUE;
CREATE CONSTRAINT `graphkin_v3_draft` FOR (n:`GraphkinDraft`) REQUIRE (n.`collection`) IS UNIQUE;
CREATE CONSTRAINT `graphkin_v3_generation` FOR (n:`GraphkinGeneration`) REQUIRE (n.`collection`, n.`generation`) IS UNIQUE;
CREATE CONSTRAINT `graphkin_v3_molecule` FOR (n:`GraphkinMolecule`) REQUIRE (n.`graph`, n.`id`) IS UNIQUE;
CREATE CONSTRAINT `graphkin_v3_rejection` FOR (n:`GraphkinRejection`) REQUIRE (n.`graph`, n.`n`) IS UNIQUE;
CREATE RANGE INDEX `graphkin_v3_generation_graph` FOR (n:`GraphkinGeneration`) ON (n.`graph`);
CREATE RANGE INDEX `graphkin_v3_molecule_digest` FOR (n:`GraphkinMolecule`) ON (n.`graph`, n.`digest`);
CREATE RANGE INDEX `graphkin_v3_molecule_inchikey` FOR (n:`GraphkinMolecule`) ON (n.`graph`, n.`inchikey`);
CREATE RANGE INDEX `graphkin_v3_name` FOR (n:`GraphkinName`) ON (n.`graph`, n.`digest`);
CREATE (n1:Graphkin {`name`: "schema", `position`: 1, `version`: 4}),
       (n2:GraphkinBatch {`graph`: "f5b794d570c19a46cef245bcda49ab33", `n`: 0}),
       (n3:GraphkinMolecule {`digest`: "0c06e880517ec7d4bb17db19c33d30e1", `dropped`: 0, `fingerprint`: [0, 65536, 0, 1073741824, 274877906944, 0, 0, 0, 0, 0, 0, 0, 549755813888, 0, 0, 0, 8589934592, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0], `graph`: "f5b794d570c19a46cef245bcda49ab33", `heavy_atoms`: 3, `id`: 0, `logP`: -0.31, `logP.text`: "-0.31", `molwt`: 46.069, `name`: "ethanol", `names`: ["alcohol"], `rings`: 0, `smiles`: "CCO"}),
       (n4:GraphkinMolecule {`digest`: "40d15d23470f33ffa4738fc51579871e", `dropped`: 0, `fingerprint`: [0, 65536, 0, 1073741824, 274877906944, 0, 0, 33554432, 0, 0, 0, 0, 549822922752, 0, 0, 0, 8589934592, 0, 0, 2305843009213693952, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], `graph`: "f5b794d570c19a46cef245bcda49ab33", `heavy_atoms`: 4, `id`: 1, `logP`: 0.3, `logP.text`: "0.30", `molwt`: 60.096, `name`: "propanol", `names`: [], `rings`: 0, `smiles`: "CCCO"}),
       (n5:GraphkinMolecule {`digest`: "b1e793d1c8ab1d2d1561dcd896da84d6", `dropped`: 0, `fingerprint`: [0, 65536, 0, 1073741824, 274877906944, 0, 0, 33554432, 0, 32768, 0, 0, 549822922752, 0, 0, 0, 288230384741646336, 4398046511104, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 36028797018963968, 0, 0], `graph`: "f5b794d570c19a46cef245bcda49ab33", `heavy_atoms`: 5, `id`: 2, `logP`: 0.88, `logP.text`: "0.88", `molwt`: 74.123, `name`: "butanol", `names`: ["butan-1-ol"], `rings`: 0, `smiles`: "CCCCO"}),
       (n6:GraphkinMolecule {`digest`: "2a31c7212fb11903d55fd553a9113a0b", `dropped`: 0, `fingerprint`: [2, 0, 0, 34359738368, 134217728, 0, 0, 0, 0, 0, 0, 32, 549755813888, 0, 0, 0, 8589934592, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], `graph`: "f5b794d570c19a46cef245bcda49ab33", `heavy_atoms`: 4, `id`: 3, `logP`: 0.05, `logP.text`: "0.05", `molwt`: 60.096, `names`: [], `rings`: 0, `smiles`: "CC(C)O"}),
       (n7:GraphkinMolecule {`digest`: "ce825189f21df6dc0a1575b7d9cfe961", `dropped`: 0, `fingerprint`: [0, 0, 0, 0, 0, 0, 32, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 131072, 0, 0], `graph`: "f5b794d570c19a46cef245bcda49ab33", `heavy_atoms`: 6, `id`: 4, `logP`: 2.13, `logP.text`: "2.13", `molwt`: 78.114, `name`: "benzene", `names`: ["benzene"], `rings`: 1, `smiles`: "c1ccccc1"}),
       (n8:GraphkinName {`digest`: "ed45ed064f3a3c1bbf1284ab0bbee291", `graph`: "f5b794d570c19a46cef245bcda49ab33", `id`: 0}),
       (n9:GraphkinName {`digest`: "bf0df1e3efc5bb221296c0cf0c14c210", `graph`: "f5b794d570c19a46cef245bcda49ab33", `id`: 2}),
       (n10:GraphkinName {`digest`: "ddcbbfa5d3fbbb23046b42a201ececdc", `graph`: "f5b794d570c19a46cef245bcda49ab33", `id`: 4}),
       (n11:GraphkinBatch {`graph`: "f5b794d570c19a46cef245bcda49ab33", `n`: 1}),
       (n12:GraphkinBatch {`graph`: "f5b794d570c19a46cef245bcda49ab33", `n`: 2}),
       (n13:GraphkinBatch {`graph`: "f5b794d570c19a46cef245bcda49ab33", `n`: 3}),
       (n14:GraphkinBatch {`graph`: "f5b794d570c19a46cef245bcda49ab33", `n`: 4}),
       (n15:GraphkinGeneration {`collection`: "alcohols", `generation`: "af13800919726e91354f7253ee2b20808811b64e789855e4e3fa76a9a0dcdaf5", `graph`: "f5b794d570c19a46cef245bcda49ab33", `manifest`: "{\"kind\":\"molecule\",\"structure\":\"smiles\",\"recipe\":{\"schema_version\":1,\"candidates\":\"exact\",\"ties\":\"hash\",\"tie_seed\":0,\"threshold\":0.3,\"top_k\":70,\"standardise\":[],\"inchikey\":false,\"fingerprint\":{\"name\":\"morgan\",\"radius\":2,\"bits\":2048,\"chirality\":false}},\"versions\":{\"rdkit\":\"2026.09.1\",\"graphkin\":\"0.2.0\",\"numpy\":\"2.4.6\",\"numba\":\"0.68.1\",\"pyarrow\":\"26.0.1\"},\"libraries\":[\"rdkit\"],\"inputs\":[{\"name\":\"v4.csv\",\"bytes\":140,\"sha256\":\"5eb9b8d29eca33308491d736194b968bffa67df90bd3ee9a9905a1d8610340d0\"}],\"counts\":{\"read\":5,\"kept\":5,\"duplicates\":0,\"rejected\":0},\"edges\":3,\"dropped\":0,\"properties\":{\"heavy_atoms\":\"number\",\"logP\":\"number\",\"molwt\":\"number\",\"name\":\"text\",\"rings\":\"number\"},\"links\":null,\"written\":[\"logP\"],\"histograms\":{\"degree\":{\"edges\":[0.0,1.0,2.0,4.0],\"counts\":[2,0,3]},\"similarity\":{\"edges\":[0.30000001192092896,0.33500000834465027,0.3700000047683716,0.4050000309944153,0.4399999976158142,0.4750000238418579,0.5099999904632568,0.5450000166893005,0.5800000429153442,0.6150000095367432,0.6499999761581421,0.6850000023841858,0.7200000286102295,0.7549999952316284,0.7900000214576721,0.824999988079071,0.8600000143051147,0.8950000405311584,0.9300000071525574,0.9650000333786011,1.0],\"counts\":[0,0,0,1,0,0,0,1,1,0,0,0,0,0,0,0,0,0,0,0]}},\"times\":{\"compile\":1.416,\"parse\":1.995,\"items\":0.325,\"index\":0.0,\"join\":0.001,\"cap\":0.0,\"write\":0.763},\"generation\":\"af13800919726e91354f7253ee2b20808811b64e789855e4e3fa76a9a0dcdaf5\",\"format\":2,\"published_at\":\"2026-11-24T23:03:33+00:00\",\"files\":{}}", `position`: 1}),
       (n16:GraphkinCollection {`current`: "af13800919726e91354f7253ee2b20808811b64e789855e4e3fa76a9a0dcdaf5", `kind`: "molecule", `name`: "alcohols"}),
       (n3)-[:SIMILAR {similarity: 0.5555556}]->(n4),
       (n3)-[:SIMILAR {similarity: 0.41666666}]->(n5),
       (n3)-[:SPANS {similarity: 0.5555556}]->(n4),
       (n4)-[:SIMILAR {similarity: 0.5833333}]->(n5),
       (n4)-[:SPANS {similarity: 0.5833333}]->(n5),
       (n16)-[:HAS]->(n15);
