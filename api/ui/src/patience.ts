import { Busy, Failure } from "./api/client";

const TRIES = 8;
const LONGEST = 30; // s, whatever the server says

/** Asks, and as often as a server is busy asks again when it says, but not for ever. `waits` is told why. */
export async function patiently<Value>(
  ask: () => Promise<Value>,
  signal: AbortSignal,
  waits: (busy: Busy) => void = () => {},
): Promise<Value> {
  for (let tries = 1; ; tries++) {
    try {
      return await ask();
    } catch (error) {
      if (signal.aborted || !(error instanceof Busy)) throw error;
      if (tries === TRIES) throw new Failure(error.status, error.title, error.message, error.hint);
      waits(error);
      await pause(Math.min(error.seconds, LONGEST) * 1000, signal);
    }
  }
}

function pause(time: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, time);
    const stop = () => {
      clearTimeout(timer);
      reject(signal.reason as Error);
    };
    signal.addEventListener("abort", stop, { once: true });
  });
}
