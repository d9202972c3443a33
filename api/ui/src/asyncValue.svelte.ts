import { untrack } from "svelte";
import { type ServerBusy, Failure } from "./api/client";
import { retryWhileBusy } from "./busyRetry";

type Load<Value> = (signal: AbortSignal) => Promise<Value>;

/** What becomes of the answer before: it goes at once; it goes where there is none to this question; it stays. */
type PreviousValue = "discard" | "discard-on-failure" | "keep";

/**
 * Something that a component asks for. Asking for something else, cancelling, or the end of the component abandons the
 * question before.
 */
export class AsyncValue<Value> {
  value: Value | null = $state.raw(null);
  failure: Failure | null = $state.raw(null);
  isPending = $state(false);
  isCancelled = $state(false);
  /** Why the question waits before it is asked again. */
  busyReason: ServerBusy | null = $state.raw(null);
  /** How many questions there were. */
  startCount = $state(0);

  private load: Load<Value> | null = null;
  private previousValue: PreviousValue = "discard-on-failure";
  private controller = new AbortController();

  constructor() {
    $effect(() => () => this.controller.abort());
  }

  async start(load: Load<Value>, previousValue: PreviousValue = "discard-on-failure"): Promise<void> {
    this.controller.abort();
    const controller = new AbortController();
    this.controller = controller;
    [this.load, this.previousValue] = [load, previousValue];
    if (previousValue === "discard") this.value = null;
    this.isPending = true;
    this.failure = this.busyReason = null;
    this.isCancelled = false;
    untrack(() => this.startCount++);
    try {
      const { signal } = controller;
      const value = await retryWhileBusy(() => load(signal), signal, (busyReason) => (this.busyReason = busyReason));
      if (!controller.signal.aborted) this.value = value;
    } catch (error) {
      if (controller.signal.aborted) return;
      this.failure = error instanceof Failure ? error : new Failure(0, "A fault of this page", String(error));
      this.dropValue();
    } finally {
      if (controller === this.controller) [this.isPending, this.busyReason] = [false, null];
    }
  }

  retry(): void {
    if (this.load !== null) void this.start(this.load, this.previousValue);
  }

  cancel(): void {
    this.controller.abort();
    this.isPending = false;
    this.isCancelled = true;
    this.dropValue();
  }

  /** Ask for nothing. */
  clear(): void {
    this.controller.abort();
    this.isPending = this.isCancelled = false;
    this.failure = this.value = null;
  }

  private dropValue(): void {
    if (this.previousValue !== "keep") this.value = null;
  }
}
