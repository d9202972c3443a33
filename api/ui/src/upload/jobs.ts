import type { Job } from "../api/replies";

/** What a job does to its collection, in words. */
export const COMMANDS: Record<Job["command"], { title: string; failure: string }> = {
  ingest: { title: "Creating", failure: "The collection was not created" },
  append: { title: "Adding to", failure: "No compounds were added" },
  remove: { title: "Removing from", failure: "No compounds were removed" },
};

/** Labels of the stages of a job, by the names that the command reports. */
const STAGES: Record<string, string> = {
  start: "Starting",
  compile: "Preparing the comparison",
  parse: "Reading the structures",
  list: "Reading the list",
  items: "Merging duplicates",
  "older items": "Loading the collection",
  index: "Building the index",
  join: "Comparing the compounds",
  cap: "Keeping the most similar neighbors",
  write: "Saving and checking",
  publish: "Publishing",
};

/** Return the label of a stage. A stage without a label is shown by its name. */
export function labelOf(stage: string): string {
  return STAGES[stage] ?? stage;
}

/** Whether a job has ended. */
export function isFinished({ state }: Pick<Job, "state">): boolean {
  return ["done", "failed", "canceled"].includes(state);
}
