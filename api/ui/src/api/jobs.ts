import type { Job, JobReference, Preview } from "./replies";
import { Failure, fetchJson, postOptions, request, ServerUnreachable } from "./request";

/** Name and value of a field of a form. */
export type Field = [name: string, value: string];

/** Return the body of a request with a file. The fields come first, so that the server knows them when it reads the file. */
function formOptions(file: File, fields: Field[], signal: AbortSignal): RequestInit {
  const body = new FormData();
  for (const [name, value] of fields) body.append(name, value);
  body.append("file", file);
  return { method: "POST", body, signal };
}

/**
 * Send a request that starts a job.
 *
 * @throws Failure instead of ServerUnreachable, which would be repeated: the job may have started although no reply arrived.
 */
async function startJob(path: string, options: RequestInit): Promise<JobReference> {
  try {
    return await fetchJson(path, options);
  } catch (error) {
    if (!(error instanceof ServerUnreachable)) throw error;
    throw new Failure(error.status, error.title, "The connection to the server ended before its reply arrived.", "Check whether the collection has changed before you try again.");
  }
}

/**
 * Read the first records of a file: its format, its columns and their types.
 *
 * @param isPartial Whether the file is the beginning of a longer one.
 */
export function previewFile({ file, isPartial }: { file: File; isPartial: boolean }, fields: Field[], signal: AbortSignal): Promise<Preview> {
  return fetchJson("/v1/previews", formOptions(file, [...fields, ["partial", String(isPartial)]], signal));
}

/** Upload a file, and start a job that makes a new collection of it, or adds it to the collection `target`. */
export function startUpload(target: string | null, file: File, fields: Field[], signal: AbortSignal): Promise<JobReference> {
  return startJob(target === null ? "/v1/collections" : collectionUrl(target, "append"), formOptions(file, fields, signal));
}

/** Start a job that removes the items with these names or SMILES from a collection. */
export function startRemoval(collection: string, body: { names: string[] } | { smiles: string[] }, signal: AbortSignal): Promise<JobReference> {
  return startJob(collectionUrl(collection, "remove"), postOptions(body, signal));
}

/** Return the state of a job. */
export function getJob(id: string, signal: AbortSignal): Promise<Job> {
  return fetchJson(jobUrl(id), { signal });
}

/** Cancel a job. It ends soon after that. */
export function cancelJob(id: string, signal: AbortSignal): Promise<Job> {
  return fetchJson(`${jobUrl(id)}/cancel`, postOptions({}, signal));
}

/** Return the records that a job rejected, as CSV with the columns source, line, input and reason. */
export function fetchJobRejections(id: string, signal: AbortSignal): Promise<string> {
  return request(`${jobUrl(id)}/rejections`, { signal }, (response) => response.text());
}

function jobUrl(id: string): string {
  return `/v1/jobs/${encodeURIComponent(id)}`;
}

function collectionUrl(collection: string, operation: string): string {
  return `/v1/collections/${encodeURIComponent(collection)}/${operation}`;
}
