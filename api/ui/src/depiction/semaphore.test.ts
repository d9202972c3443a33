import { describe, expect, it } from "vitest";
import { Semaphore } from "./semaphore";

const nextTask = () => new Promise((resolve) => setTimeout(resolve));

/** Fake tasks that record when they start and finish when a test says so. */
class FakeWork {
  readonly started: string[] = [];
  private readonly finishers = new Map<string, () => void>();

  readonly start = (name: string) => (): Promise<string> => {
    this.started.push(name);
    const { promise, resolve } = Promise.withResolvers<string>();
    this.finishers.set(name, () => resolve(name));
    return promise;
  };

  async finish(name: string): Promise<void> {
    this.finishers.get(name)!();
    await nextTask();
  }
}

describe("a semaphore", () => {
  const signal = new AbortController().signal;

  it("runs a limited number of tasks at a time, in order, urgent ones first", async () => {
    const [semaphore, fakeWork] = [new Semaphore(2), new FakeWork()];
    const results = ["a", "b", "c", "d"].map((name) => semaphore.run(fakeWork.start(name), signal));
    results.push(semaphore.run(fakeWork.start("urgent"), signal, true));
    await nextTask();
    expect(fakeWork.started).toEqual(["a", "b"]);
    for (const name of ["b", "a", "urgent", "c", "d"]) await fakeWork.finish(name);
    expect(fakeWork.started).toEqual(["a", "b", "urgent", "c", "d"]);
    expect(await Promise.all(results)).toEqual(["a", "b", "c", "d", "urgent"]);
  });

  it("releases the slot of a task that fails", async () => {
    const [semaphore, fakeWork] = [new Semaphore(1), new FakeWork()];
    const failure = semaphore.run(() => Promise.reject(new Error("no")), signal);
    void semaphore.run(fakeWork.start("next"), signal);
    await expect(failure).rejects.toThrow("no");
    await nextTask();
    expect(fakeWork.started).toEqual(["next"]);
  });

  it("drops a waiting task that is aborted", async () => {
    const [semaphore, fakeWork, controller] = [new Semaphore(1), new FakeWork(), new AbortController()];
    void semaphore.run(fakeWork.start("a"), signal);
    const abandoned = semaphore.run(fakeWork.start("left"), controller.signal);
    void semaphore.run(fakeWork.start("b"), signal);
    await nextTask();
    controller.abort();
    await expect(abandoned).rejects.toThrow("aborted");
    await fakeWork.finish("a");
    expect(fakeWork.started).toEqual(["a", "b"]);
    await expect(semaphore.run(fakeWork.start("late"), controller.signal)).rejects.toThrow("aborted");
  });

  it("passes on the slot of a task that is aborted just when it gets the slot", async () => {
    const [semaphore, fakeWork, controller] = [new Semaphore(1), new FakeWork(), new AbortController()];
    void semaphore.run(fakeWork.start("a"), signal).then(() => controller.abort());
    const abandoned = expect(semaphore.run(fakeWork.start("left"), controller.signal)).rejects.toThrow("aborted");
    void semaphore.run(fakeWork.start("b"), signal);
    await nextTask();
    await fakeWork.finish("a");
    await abandoned;
    expect(fakeWork.started).toEqual(["a", "b"]);
  });
});
