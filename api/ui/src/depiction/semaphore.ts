/** Lets only so many work at a time. The others wait for their turn: in front who is urgent, else behind all. */
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
