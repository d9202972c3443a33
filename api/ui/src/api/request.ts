import { withAuthorization, key } from "./key.svelte";
import type { Problem } from "./replies";

/** A request that failed. `status` is the HTTP status, or 0 if no response arrived. */
export class Failure extends Error {
  constructor(
    readonly status: number,
    readonly title: string,
    detail: string,
    readonly hint: string | null = null,
  ) {
    super(detail);
  }

  /** Whether retrying may help. */
  get isTemporary(): boolean {
    return this.status < 400 || this.status >= 500 || this.status === 429;
  }
}

/** The server is busy and asks to retry after `seconds`. */
export class ServerBusy extends Failure {
  constructor(
    readonly seconds: number,
    ...details: ConstructorParameters<typeof Failure>
  ) {
    super(...details);
  }
}

/** No response arrived, or only one of a proxy that did not reach the server. It may be reachable again soon. */
export class ServerUnreachable extends Failure {
  constructor(status: number) {
    super(status, "No response", "The server cannot be reached.", "The page tries again by itself. Check that the server is running and that this computer is online.");
  }
}

/** The requested generation is damaged, so retrying does not help. */
export class DamagedFailure extends Failure {
  override get isTemporary(): boolean {
    return false;
  }
}

const UNAUTHORIZED = 401;
const GATEWAY_ERRORS = [502, 504];
const DAMAGED = "urn:graphkin:problem:damaged";

export function fetchJson<Reply>(path: string, options: RequestInit): Promise<Reply> {
  return request(path, options, (response) => response.json() as Promise<Reply>);
}

export function postOptions(body: unknown, signal?: AbortSignal): RequestInit {
  return { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body), signal };
}

/**
 * Send a request and return what `body` reads from a successful response.
 *
 * @throws Failure for every other response, and if the server cannot be reached.
 */
export async function request<Body>(path: string, options: RequestInit, body: (response: Response) => Promise<Body>): Promise<Body> {
  try {
    const response = await fetch(path, { ...options, headers: withAuthorization(options.headers) });
    if (response.ok) return await body(response);
    if (response.status === UNAUTHORIZED) key.isRequired = true;
    throw await failureFrom(response);
  } catch (error) {
    if (options.signal?.aborted || error instanceof Failure) throw error;
    throw new ServerUnreachable(0);
  }
}

async function failureFrom(response: Response): Promise<Failure> {
  const problem = (await response.json().catch(() => null)) as Problem | null;
  if (problem === null && GATEWAY_ERRORS.includes(response.status)) return new ServerUnreachable(response.status);
  const details: ConstructorParameters<typeof Failure> = problem
    ? [problem.status, problem.title, problem.detail, problem.hint]
    : [response.status, "Request failed", `The server returned status ${response.status}.`];
  const seconds = Number.parseInt(response.headers.get("Retry-After") ?? "");
  if (problem?.type === DAMAGED) return new DamagedFailure(...details);
  return Number.isNaN(seconds) ? new Failure(...details) : new ServerBusy(seconds, ...details);
}
