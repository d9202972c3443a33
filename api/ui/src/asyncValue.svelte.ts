import { untrack } from "svelte";
import { type ServerBusy, Failure, ServerUnreachable } from "./api/request";
import { retryWhileBusy } from "./busyRetry";

type Load<Value> = (signal: AbortSignal) => Promise<Value>;

const RECONNECT_PAUSE = 3000; // milliseconds until a request is repeated that did not reach the server

/** What happens to the previous value: it is discarded at once, discarded if the request fails or is cancelled, or kept. */
type Retention = "discard" | "discard-on-failure" | "keep";

/**
 * A value that a component loads asynchronously, with the state of its request.
 *
 * Starting another request, cancelling, or destroying the component aborts the request in progress. A request that did
 * not reach the server is repeated until it does. Its failure is shown meanwhile.
 */
export class AsyncValue<Value> {
  value: Value | null = $state.raw(null);
  failure: Failure | null = $state.raw(null);
  isPending = $state(false);
  isCancelled = $state(false);
  /** The server's reason for a request that waits for a retry. */
  busyReason: ServerBusy | null = $state.raw(null);
  /** Number of requests started so far. */
  startCount = $state(0);

  private load: Load<Value> | null = null;
  private retention: Retention = "discard-on-failure";
  private controller = new AbortController();

  constructor() {
    $effect(() => () => this.controller.abort());
  }

  /** Start a request. It aborts the previous one. */
  start(load: Load<Value>, retention: Retention = "discard-on-failure"): Promise<void> {
    this.failure = null;
    return this.request(load, retention);
  }

  private async request(load: Load<Value>, retention: Retention): Promise<void> {
    this.controller.abort();
    const controller = new AbortController();
    this.controller = controller;
    [this.load, this.retention] = [load, retention];
    if (retention === "discard") this.value = null;
    this.isPending = true;
    this.busyReason = null;
    this.isCancelled = false;
    untrack(() => this.startCount++);
    try {
      const { signal } = controller;
      const value = await retryWhileBusy(() => load(signal), signal, (busyReason) => (this.busyReason = busyReason));
      if (!controller.signal.aborted) [this.value, this.failure] = [value, null];
    } catch (error) {
      if (controller.signal.aborted) return;
      this.failure = error instanceof Failure ? error : new Failure(0, "Error in this page", String(error));
      this.dropValue();
      if (error instanceof ServerUnreachable) this.requestLater(controller.signal);
    } finally {
      if (controller === this.controller) [this.isPending, this.busyReason] = [false, null];
    }
  }

  private requestLater(signal: AbortSignal): void {
    const timer = setTimeout(() => void this.request(this.load!, this.retention), RECONNECT_PAUSE);
    signal.addEventListener("abort", () => clearTimeout(timer), { once: true });
  }

  /** Start the last request again. */
  retry(): void {
    if (this.load !== null) void this.start(this.load, this.retention);
  }

  /** Abort the request at the user's wish. */
  cancel(): void {
    this.controller.abort();
    this.isPending = false;
    this.isCancelled = true;
    this.dropValue();
  }

  /** Abort the request and discard the value. */
  clear(): void {
    this.controller.abort();
    this.isPending = this.isCancelled = false;
    this.failure = this.value = null;
  }

  private dropValue(): void {
    if (this.retention !== "keep") this.value = null;
  }
}
