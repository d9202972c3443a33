/**
 * Runs at most a fixed number of tasks at a time. Others wait in order; an urgent task goes to the front of the
 * queue.
 */
export class Semaphore {
  private readonly queue: (() => void)[] = [];

  constructor(private slots: number) {}

  async run<Value>(work: () => Promise<Value>, signal: AbortSignal, isUrgent = false): Promise<Value> {
    await this.acquire(signal, isUrgent);
    try {
      signal.throwIfAborted();
      return await work();
    } finally {
      this.release();
    }
  }

  private async acquire(signal: AbortSignal, isUrgent: boolean): Promise<void> {
    signal.throwIfAborted();
    if (this.slots > 0) return void this.slots--;
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.queue[isUrgent ? "unshift" : "push"](resolve);
    const abandon = () => {
      const index = this.queue.indexOf(resolve);
      if (index !== -1) this.queue.splice(index, 1);
      reject(signal.reason as Error);
    };
    signal.addEventListener("abort", abandon, { once: true });
    return promise;
  }

  private release(): void {
    const startNext = this.queue.shift();
    if (startNext) startNext();
    else this.slots++;
  }
}
