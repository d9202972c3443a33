import { describe, expect, it } from "vitest";
import { Turns } from "./turns";

const settled = () => new Promise((resolve) => setTimeout(resolve));

/** Works that say when they begin, and end when they are told to. */
class Works {
  readonly begun: string[] = [];
  private readonly ends = new Map<string, () => void>();

  readonly work = (name: string) => (): Promise<string> => {
    this.begun.push(name);
    const { promise, resolve } = Promise.withResolvers<string>();
    this.ends.set(name, () => resolve(name));
    return promise;
  };

  async end(name: string): Promise<void> {
    this.ends.get(name)!();
    await settled();
  }
}

describe("turns", () => {
  const never = new AbortController().signal;

  it("are taken by so many at a time, in order, by the urgent first", async () => {
    const [turns, works] = [new Turns(2), new Works()];
    const taken = ["a", "b", "c", "d"].map((name) => turns.take(works.work(name), never));
    taken.push(turns.take(works.work("urgent"), never, true));
    await settled();
    expect(works.begun).toEqual(["a", "b"]);
    for (const name of ["b", "a", "urgent", "c", "d"]) await works.end(name);
    expect(works.begun).toEqual(["a", "b", "urgent", "c", "d"]);
    expect(await Promise.all(taken)).toEqual(["a", "b", "c", "d", "urgent"]);
  });

  it("are passed on by what fails", async () => {
    const [turns, works] = [new Turns(1), new Works()];
    const failing = turns.take(() => Promise.reject(new Error("no")), never);
    void turns.take(works.work("next"), never);
    await expect(failing).rejects.toThrow("no");
    await settled();
    expect(works.begun).toEqual(["next"]);
  });

  it("are not waited for by who has left", async () => {
    const [turns, works, leaving] = [new Turns(1), new Works(), new AbortController()];
    void turns.take(works.work("a"), never);
    const left = turns.take(works.work("left"), leaving.signal);
    void turns.take(works.work("b"), never);
    await settled();
    leaving.abort();
    await expect(left).rejects.toThrow("aborted");
    await works.end("a");
    expect(works.begun).toEqual(["a", "b"]);
    await expect(turns.take(works.work("late"), leaving.signal)).rejects.toThrow("aborted");
  });

  it("are passed on by who leaves just when it is theirs", async () => {
    const [turns, works, leaving] = [new Turns(1), new Works(), new AbortController()];
    void turns.take(works.work("a"), never).then(() => leaving.abort());
    const left = expect(turns.take(works.work("left"), leaving.signal)).rejects.toThrow("aborted");
    void turns.take(works.work("b"), never);
    await settled();
    await works.end("a");
    await left;
    expect(works.begun).toEqual(["a", "b"]);
  });
});
