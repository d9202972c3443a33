/** Lets only so many work at a time. The others wait for their turn: in front who is urgent, else behind all. */
export class Turns {
  private readonly waiting: (() => void)[] = [];

  constructor(private free: number) {}

  async take<Value>(work: () => Promise<Value>, signal: AbortSignal, urgent = false): Promise<Value> {
    await this.turn(signal, urgent);
    try {
      signal.throwIfAborted();
      return await work();
    } finally {
      this.pass();
    }
  }

  private async turn(signal: AbortSignal, urgent: boolean): Promise<void> {
    signal.throwIfAborted();
    if (this.free > 0) return void this.free--;
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.waiting[urgent ? "unshift" : "push"](resolve);
    const leave = () => {
      const place = this.waiting.indexOf(resolve);
      if (place !== -1) this.waiting.splice(place, 1);
      reject(signal.reason as Error);
    };
    signal.addEventListener("abort", leave, { once: true });
    return promise;
  }

  private pass(): void {
    const next = this.waiting.shift();
    if (next) next();
    else this.free++;
  }
}
