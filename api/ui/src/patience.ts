import { Busy, Failure } from "./api/client";

const TRIES = 8;
const LONGEST = 30; // s, whatever the server says

/**
 * Asks, and as often as a server is busy asks again when it says: as long as it says something new each time, as one
 * does that tells how far it is, else not for ever. `waits` is told why.
 */
export async function patiently<Value>(
  ask: () => Promise<Value>,
  signal: AbortSignal,
  waits: (busy: Busy) => void = () => {},
): Promise<Value> {
  for (let tries = 1, told = ""; ; tries++) {
    try {
      return await ask();
    } catch (error) {
      if (signal.aborted || !(error instanceof Busy)) throw error;
      if (error.message !== told) [tries, told] = [1, error.message];
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
