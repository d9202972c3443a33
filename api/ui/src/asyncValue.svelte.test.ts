import { flushSync } from "svelte";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { ServerBusy, Failure, ServerUnreachable } from "./api/request";
import { AsyncValue } from "./asyncValue.svelte";

/** Fake server whose requests stay open until a test resolves or rejects them. */
class Server {
  readonly signals: AbortSignal[] = [];
  private readonly pendingCalls: PromiseWithResolvers<string>[] = [];

  readonly load = (signal: AbortSignal): Promise<string> => {
    const call = Promise.withResolvers<string>();
    this.signals.push(signal);
    this.pendingCalls.push(call);
    return call.promise;
  };

  async resolve(number: number, text: string): Promise<void> {
    this.pendingCalls[number]!.resolve(text);
    await nextTask();
  }

  async reject(number: number, error: unknown): Promise<void> {
    this.pendingCalls[number]!.reject(error);
    await nextTask();
  }
}

const nextTask = () => new Promise((resolve) => setTimeout(resolve));
const UNREACHABLE = new Failure(0, "No answer", "The server cannot be reached.");

describe("an async value", () => {
  let server: Server;
  let asyncValue: AsyncValue<string>;
  let destroy: () => void;

  beforeEach(() => {
    server = new Server();
    destroy = $effect.root(() => {
      asyncValue = new AsyncValue<string>();
    });
    flushSync();
  });
  afterEach(() => destroy());

  it("holds the value of a request that succeeds", async () => {
    void asyncValue.start(server.load);
    expect([asyncValue.value, asyncValue.isPending]).toEqual([null, true]);
    await server.resolve(0, "one");
    expect([asyncValue.value, asyncValue.isPending, asyncValue.failure]).toEqual(["one", false, null]);
  });

  it("keeps the value of the latest request, in whatever order responses arrive", async () => {
    void asyncValue.start(server.load);
    void asyncValue.start(server.load);
    expect(server.signals.map((signal) => signal.aborted)).toEqual([true, false]);
    await server.resolve(1, "two");
    await server.resolve(0, "one");
    expect([asyncValue.value, asyncValue.isPending]).toEqual(["two", false]);
  });

  it.each([
    ["discard", null, null],
    ["discard-on-failure", "one", null],
    ["keep", "one", "one"],
  ] as const)("applies the retention %s to the previous value", async (retention, valueWhilePending, valueAfterFailure) => {
    void asyncValue.start(server.load);
    await server.resolve(0, "one");
    void asyncValue.start(server.load, retention);
    expect(asyncValue.value).toBe(valueWhilePending);
    await server.reject(1, UNREACHABLE);
    expect([asyncValue.value, asyncValue.failure]).toEqual([valueAfterFailure, UNREACHABLE]);
    asyncValue.retry();
    expect(asyncValue.failure).toBeNull();
    asyncValue.cancel();
    expect([asyncValue.value, asyncValue.isCancelled, asyncValue.isPending]).toEqual([valueAfterFailure, true, false]);
    asyncValue.retry();
    await server.resolve(3, "two");
    expect([asyncValue.value, asyncValue.isCancelled]).toEqual(["two", false]);
  });

  it("aborts its request when it is cancelled or cleared, or when its component is destroyed", async () => {
    for (const abandon of [() => asyncValue.cancel(), () => asyncValue.clear(), destroy]) {
      void asyncValue.start(server.load);
      abandon();
      expect(server.signals.at(-1)?.aborted).toBe(true);
      await server.resolve(server.signals.length - 1, "late");
      expect(asyncValue.value).toBeNull();
    }
  });

  it("reports an unexpected error as a fault of the page", async () => {
    void asyncValue.start(server.load);
    await server.reject(0, new TypeError("no such thing"));
    expect(asyncValue.failure).toMatchObject({ status: 0, title: "Error in this page" });
    expect(asyncValue.failure?.message).toContain("no such thing");
  });
});

describe("a request to a busy server", () => {
  const BUSY = new ServerBusy(5, 503, "Not available now", "too many at once");
  let asyncValue: AsyncValue<string>;
  let destroy: () => void;

  beforeEach(() => {
    vi.useFakeTimers();
    destroy = $effect.root(() => {
      asyncValue = new AsyncValue<string>();
    });
  });
  afterEach(() => {
    destroy();
    vi.useRealTimers();
  });

  it("is retried after the delay that the server asks for, and exposes the reason meanwhile", async () => {
    const load = vi.fn().mockRejectedValueOnce(BUSY).mockResolvedValueOnce("one");
    void asyncValue.start(load);
    await vi.advanceTimersByTimeAsync(4999);
    expect([load.mock.calls.length, asyncValue.isPending, asyncValue.busyReason, asyncValue.failure]).toEqual([1, true, BUSY, null]);
    await vi.advanceTimersByTimeAsync(1);
    expect([asyncValue.value, asyncValue.isPending, asyncValue.busyReason]).toEqual(["one", false, null]);
  });

  it("fails after two minutes without progress", async () => {
    const load = vi.fn().mockRejectedValue(BUSY);
    void asyncValue.start(load);
    await vi.advanceTimersByTimeAsync(119_999);
    expect([asyncValue.isPending, asyncValue.busyReason]).toEqual([true, BUSY]);
    await vi.advanceTimersByTimeAsync(1);
    expect([load.mock.calls.length, asyncValue.isPending, asyncValue.busyReason]).toEqual([25, false, null]);
    expect(asyncValue.failure).toMatchObject({ status: 503, message: "too many at once", isTemporary: true });
    expect(asyncValue.failure).not.toBeInstanceOf(ServerBusy);
  });

  it("is retried as long as the server reports progress", async () => {
    const load = vi.fn();
    for (let call = 0; call < 60; call++) load.mockRejectedValueOnce(new ServerBusy(1, 503, "Not available now", `${call >> 1} of 30`));
    void asyncValue.start(load.mockResolvedValueOnce("one"));
    await vi.advanceTimersByTimeAsync(59_999);
    expect(asyncValue.busyReason?.message).toBe("29 of 30");
    await vi.advanceTimersByTimeAsync(1);
    expect([asyncValue.value, asyncValue.isPending]).toEqual(["one", false]);
  });

  it("is not retried after it was abandoned", async () => {
    for (const abandon of [() => asyncValue.cancel(), () => asyncValue.clear(), destroy]) {
      const load = vi.fn().mockRejectedValue(BUSY);
      void asyncValue.start(load);
      await vi.advanceTimersByTimeAsync(1000);
      abandon();
      await vi.advanceTimersByTimeAsync(60_000);
      expect([load.mock.calls.length, asyncValue.busyReason]).toEqual([1, null]);
    }
  });
});

describe("a request that does not reach the server", () => {
  const UNREACHED = new ServerUnreachable(0);
  let asyncValue: AsyncValue<string>;
  let destroy: () => void;

  beforeEach(() => {
    vi.useFakeTimers();
    destroy = $effect.root(() => {
      asyncValue = new AsyncValue<string>();
    });
  });
  afterEach(() => {
    destroy();
    vi.useRealTimers();
  });

  it("is repeated until it does, and shows its failure meanwhile", async () => {
    const load = vi.fn().mockRejectedValueOnce(UNREACHED).mockRejectedValueOnce(UNREACHED).mockResolvedValueOnce("one");
    void asyncValue.start(load);
    await vi.advanceTimersByTimeAsync(5999);
    expect([load.mock.calls.length, asyncValue.failure, asyncValue.value]).toEqual([2, UNREACHED, null]);
    await vi.advanceTimersByTimeAsync(1);
    expect([load.mock.calls.length, asyncValue.failure, asyncValue.value]).toEqual([3, null, "one"]);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(load).toHaveBeenCalledTimes(3);
  });

  it("is not repeated after it was abandoned or another one started", async () => {
    const next = vi.fn().mockResolvedValue("two");
    for (const abandon of [() => asyncValue.cancel(), () => asyncValue.clear(), () => void asyncValue.start(next), destroy]) {
      const load = vi.fn().mockRejectedValue(UNREACHED);
      void asyncValue.start(load);
      await vi.advanceTimersByTimeAsync(1000);
      abandon();
      await vi.advanceTimersByTimeAsync(60_000);
      expect(load).toHaveBeenCalledTimes(1);
    }
  });
});
