// Replies of the API that the page uses, by their names in the OpenAPI schema. `make docs` generates `openapi.d.ts`.

import type { components, operations } from "./openapi";

type Schemas = components["schemas"];

export type Cliff = Schemas["Cliff"];
export type CliffsPage = Schemas["CliffsPage"];
export type Cluster = Schemas["Cluster"];
export type CollectionSummary = Schemas["CollectionSummary"];
export type Collections = Schemas["Collections"];
export type ComparedItem = Schemas["ComparedItem"];
export type ComparisonPage = Schemas["ComparisonPage"];
export type ComparisonRow = operations["compare_rows"]["responses"][200]["content"]["application/x-ndjson"];
export type Component = Schemas["Component"];
export type ComponentReply = Schemas["ComponentReply"];
export type ComponentsPage = Schemas["ComponentsPage"];
export type AppliedTransformation = Schemas["AppliedTransformation"];
export type ItemMatchedPairsPage = Schemas["ItemMatchedPairsPage"];
export type MatchedPairsPage = Schemas["MatchedPairsPage"];
export type McsReply = Schemas["McsReply"];
export type Damage = Schemas["Damage"];
export type FreeWilson = Schemas["FreeWilson"];
export type GroupMatrix = Schemas["GroupMatrix"];
export type Histogram = Schemas["Histogram"];
export type Hop = Schemas["Hop"];
export type HopsReply = Schemas["HopsReply"];
export type Item = Schemas["Item"];
export type ItemClusterReply = Schemas["ItemClusterReply"];
export type ItemReply = Schemas["ItemReply"];
export type ItemsPage = Schemas["ItemsPage"];
export type LineagePage = Schemas["LineagePage"];
export type LineageRow = Schemas["LineageRow"];
export type Job = Schemas["Job"];
export type JobReference = Schemas["JobReference"];
export type Kind = CollectionSummary["kind"];
export type NeighborsPage = Schemas["NeighborsPage"];
export type PathReply = Schemas["PathReply"];
export type PickReply = Schemas["PickReply"];
export type Positive = Schemas["Positive"];
export type PositivesReply = Schemas["PositivesReply"];
export type Preview = Schemas["Preview"];
export type Problem = Schemas["Problem"];
export type QueryPage = Schemas["QueryPage"];
export type Product = Schemas["Product"];
export type RankedCluster = Schemas["RankedCluster"];
export type RankedClustersPage = Schemas["RankedClustersPage"];
export type Rejection = Schemas["Rejection"];
export type RejectionsPage = Schemas["RejectionsPage"];
export type ReportsReply = Schemas["ReportsReply"];
export type ReportSummary = Schemas["ReportSummary"];
export type Relation = ComparedItem["relation"];
export type RgroupRow = Schemas["RGroupRow"];
export type RgroupsReply = Schemas["RGroupsReply"];
export type Scaffold = Schemas["Scaffold"];
export type ScaffoldTreePage = Schemas["ScaffoldTreePage"];
export type SearchReply = Schemas["SearchReply"];
export type SearchRow = operations["search_batch"]["responses"][200]["content"]["application/x-ndjson"];
export type SimilarItem = Schemas["SimilarItem"];
export type Step = Schemas["Step"];
export type StructureReply = Schemas["StructureReply"];
export type Transformation = Schemas["Transformation"];
export type Uncut = Schemas["Uncut"];
export type UploadLimits = Schemas["UploadLimits"];

/**
 * Manifest of a generation. The OpenAPI schema leaves the recipe open; every recipe has a threshold, and one that
 * truncates pairs has a top-k limit.
 */
export type Manifest = Schemas["Manifest"] & { recipe: { threshold: number; top_k?: number } };

/** Computed columns that a collection offers: molecular descriptors, and activities such as pIC50. */
export type ComputedColumns = Pick<Schemas["DescriptorsReply"], "descriptors" | "activities">;

/** A generation with its computed columns, which another route lists. */
export type CollectionDetail = Schemas["CollectionDetail"] & { manifest: Manifest; computed: ComputedColumns };
