import { untrack } from "svelte";
import { Failure } from "./api/client";

/** Something that is asked for. Asking for something else, or cancelling, abandons the question before. */
export class Loading<Value> {
  value: Value | null = $state.raw(null);
  failure: Failure | null = $state.raw(null);
  pending = $state(false);
  cancelled = $state(false);

  private ask: ((signal: AbortSignal) => Promise<Value>) | null = null;
  private controller = new AbortController();

  /** `fresh`: what was there before does not stay until the answer comes. */
  async start(ask: (signal: AbortSignal) => Promise<Value>, fresh = false): Promise<void> {
    this.controller.abort();
    const controller = new AbortController();
    this.controller = controller;
    this.ask = ask;
    if (fresh) this.value = null;
    this.pending = true;
    this.failure = null;
    this.cancelled = false;
    try {
      const value = await ask(controller.signal);
      if (!controller.signal.aborted) this.value = value;
    } catch (error) {
      if (controller.signal.aborted) return;
      this.failure = error instanceof Failure ? error : new Failure(0, "A fault of this page", String(error));
    } finally {
      if (controller === this.controller) this.pending = false;
    }
  }

  retry(): void {
    if (this.ask !== null) void this.start(this.ask);
  }

  cancel(): void {
    this.controller.abort();
    this.pending = false;
    this.cancelled = true;
  }

  /** Ask for nothing. */
  clear(): void {
    untrack(() => {
      this.cancel();
      this.cancelled = false;
      this.failure = null;
      this.value = null;
    });
  }
}
