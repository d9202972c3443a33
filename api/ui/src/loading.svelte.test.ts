import { flushSync } from "svelte";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { Busy, Failure } from "./api/client";
import { Loading } from "./loading.svelte";

/** Questions that wait for their answers. */
class Server {
  readonly signals: AbortSignal[] = [];
  private readonly waiting: PromiseWithResolvers<string>[] = [];

  readonly ask = (signal: AbortSignal): Promise<string> => {
    const question = Promise.withResolvers<string>();
    this.signals.push(signal);
    this.waiting.push(question);
    return question.promise;
  };

  async answer(number: number, text: string): Promise<void> {
    this.waiting[number]!.resolve(text);
    await settled();
  }

  async fail(number: number, error: unknown): Promise<void> {
    this.waiting[number]!.reject(error);
    await settled();
  }
}

const settled = () => new Promise((resolve) => setTimeout(resolve));
const AWAY = new Failure(0, "No answer", "The server cannot be reached.");

describe("what is asked for", () => {
  let server: Server;
  let loading: Loading<string>;
  let end: () => void;

  beforeEach(() => {
    server = new Server();
    end = $effect.root(() => {
      loading = new Loading<string>();
    });
    flushSync();
  });
  afterEach(() => end());

  it("comes, and is not waited for any longer", async () => {
    void loading.start(server.ask);
    expect([loading.value, loading.pending]).toEqual([null, true]);
    await server.answer(0, "one");
    expect([loading.value, loading.pending, loading.failure]).toEqual(["one", false, null]);
  });

  it("is the last question's, in whatever order answers come", async () => {
    void loading.start(server.ask);
    void loading.start(server.ask);
    expect(server.signals.map((signal) => signal.aborted)).toEqual([true, false]);
    await server.answer(1, "two");
    await server.answer(0, "one");
    expect([loading.value, loading.pending]).toEqual(["two", false]);
  });

  it.each([
    ["gone", null, null],
    ["stale", "one", null],
    ["kept", "one", "one"],
  ] as const)("and what was there before is %s", async (before, meanwhile, afterwards) => {
    void loading.start(server.ask);
    await server.answer(0, "one");
    void loading.start(server.ask, before);
    expect(loading.value).toBe(meanwhile);
    await server.fail(1, AWAY);
    expect([loading.value, loading.failure]).toEqual([afterwards, AWAY]);
    loading.retry();
    expect(loading.failure).toBeNull();
    loading.cancel();
    expect([loading.value, loading.cancelled, loading.pending]).toEqual([afterwards, true, false]);
    loading.retry();
    await server.answer(3, "two");
    expect([loading.value, loading.cancelled]).toEqual(["two", false]);
  });

  it("is abandoned when it is cancelled, cleared, or its component ends", async () => {
    for (const stop of [() => loading.cancel(), () => loading.clear(), end]) {
      void loading.start(server.ask);
      stop();
      expect(server.signals.at(-1)?.aborted).toBe(true);
      await server.answer(server.signals.length - 1, "late");
      expect(loading.value).toBeNull();
    }
  });

  it("fails with a word of its own where the page is at fault", async () => {
    void loading.start(server.ask);
    await server.fail(0, new TypeError("no such thing"));
    expect(loading.failure).toMatchObject({ status: 0, title: "A fault of this page" });
    expect(loading.failure?.message).toContain("no such thing");
  });
});

describe("a busy server", () => {
  const BUSY = new Busy(5, 503, "Not available now", "too many at once");
  let loading: Loading<string>;
  let end: () => void;

  beforeEach(() => {
    vi.useFakeTimers();
    end = $effect.root(() => {
      loading = new Loading<string>();
    });
  });
  afterEach(() => {
    end();
    vi.useRealTimers();
  });

  it("is asked again when it says, and why is told meanwhile", async () => {
    const ask = vi.fn().mockRejectedValueOnce(BUSY).mockResolvedValueOnce("one");
    void loading.start(ask);
    await vi.advanceTimersByTimeAsync(4999);
    expect([ask.mock.calls.length, loading.pending, loading.busy, loading.failure]).toEqual([1, true, BUSY, null]);
    await vi.advanceTimersByTimeAsync(1);
    expect([loading.value, loading.pending, loading.busy]).toEqual(["one", false, null]);
  });

  it("is not asked for ever, and then it is a failure", async () => {
    const ask = vi.fn().mockRejectedValue(BUSY);
    void loading.start(ask);
    await vi.advanceTimersByTimeAsync(600_000);
    expect([ask.mock.calls.length, loading.pending, loading.busy]).toEqual([8, false, null]);
    expect(loading.failure).toMatchObject({ status: 503, message: "too many at once", passing: true });
    expect(loading.failure).not.toBeInstanceOf(Busy);
  });

  it("is asked for as long as it tells that it goes on", async () => {
    const ask = vi.fn();
    for (let done = 0; done < 60; done++) ask.mockRejectedValueOnce(new Busy(1, 503, "Not available now", `${done >> 1} of 30`));
    void loading.start(ask.mockResolvedValueOnce("one"));
    await vi.advanceTimersByTimeAsync(59_999);
    expect(loading.busy?.message).toBe("29 of 30");
    await vi.advanceTimersByTimeAsync(1);
    expect([loading.value, loading.pending]).toEqual(["one", false]);
  });

  it("is not asked again by who has gone", async () => {
    for (const stop of [() => loading.cancel(), () => loading.clear(), end]) {
      const ask = vi.fn().mockRejectedValue(BUSY);
      void loading.start(ask);
      await vi.advanceTimersByTimeAsync(1000);
      stop();
      await vi.advanceTimersByTimeAsync(60_000);
      expect([ask.mock.calls.length, loading.busy]).toEqual([1, null]);
    }
  });
});
