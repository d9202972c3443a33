import { untrack } from "svelte";
import { type Busy, Failure } from "./api/client";
import { patiently } from "./patience";

type Ask<Value> = (signal: AbortSignal) => Promise<Value>;

/** What becomes of the answer before: it goes at once; it goes where there is none to this question; it stays. */
type Before = "gone" | "stale" | "kept";

/**
 * Something that a component asks for. Asking for something else, cancelling, or the end of the component abandons the
 * question before.
 */
export class Loading<Value> {
  value: Value | null = $state.raw(null);
  failure: Failure | null = $state.raw(null);
  pending = $state(false);
  cancelled = $state(false);
  /** Why the question waits before it is asked again. */
  busy: Busy | null = $state.raw(null);
  /** How many questions there were. */
  asked = $state(0);

  private ask: Ask<Value> | null = null;
  private before: Before = "stale";
  private controller = new AbortController();

  constructor() {
    $effect(() => () => this.controller.abort());
  }

  async start(ask: Ask<Value>, before: Before = "stale"): Promise<void> {
    this.controller.abort();
    const controller = new AbortController();
    this.controller = controller;
    [this.ask, this.before] = [ask, before];
    if (before === "gone") this.value = null;
    this.pending = true;
    this.failure = this.busy = null;
    this.cancelled = false;
    untrack(() => this.asked++);
    try {
      const { signal } = controller;
      const value = await patiently(() => ask(signal), signal, (busy) => (this.busy = busy));
      if (!controller.signal.aborted) this.value = value;
    } catch (error) {
      if (controller.signal.aborted) return;
      this.failure = error instanceof Failure ? error : new Failure(0, "A fault of this page", String(error));
      this.unanswered();
    } finally {
      if (controller === this.controller) [this.pending, this.busy] = [false, null];
    }
  }

  retry(): void {
    if (this.ask !== null) void this.start(this.ask, this.before);
  }

  cancel(): void {
    this.controller.abort();
    this.pending = false;
    this.cancelled = true;
    this.unanswered();
  }

  /** Ask for nothing. */
  clear(): void {
    this.controller.abort();
    this.pending = this.cancelled = false;
    this.failure = this.value = null;
  }

  private unanswered(): void {
    if (this.before !== "kept") this.value = null;
  }
}
