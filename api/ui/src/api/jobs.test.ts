import { afterEach, expect, test, vi } from "vitest";
import { startRemoval, startUpload } from "./jobs";
import { ServerUnreachable } from "./request";

afterEach(() => vi.unstubAllGlobals());

test("a change of a collection is not repeated when its reply is lost", async () => {
  vi.stubGlobal("fetch", () => Promise.reject(new TypeError("connection reset")));
  const { signal } = new AbortController();
  for (const change of [startUpload(null, new File(["C"], "a.smi"), [], signal), startRemoval("mine", { names: ["a"] }, signal)]) {
    const error: unknown = await change.catch((reason: unknown) => reason);
    expect(error).toMatchObject({ title: "No response", isTemporary: true });
    expect(error).not.toBeInstanceOf(ServerUnreachable); // which an AsyncValue repeats
  }
});
