import { ServerBusy, Failure } from "./api/request";

const PATIENCE = 120; // seconds without progress until it gives up
const MAX_WAIT = 30; // seconds between two tries, however long the server asks to wait

/**
 * Run a request, and retry it while the server is busy.
 *
 * It gives up after `PATIENCE` without progress. A changed message of the server reports progress.
 *
 * @param onBusy - called before each wait.
 */
export async function retryWhileBusy<Value>(
  load: () => Promise<Value>,
  signal: AbortSignal,
  onBusy: (busy: ServerBusy) => void = () => {},
): Promise<Value> {
  for (let since = Date.now(), lastMessage = ""; ; ) {
    try {
      return await load();
    } catch (error) {
      if (signal.aborted || !(error instanceof ServerBusy)) throw error;
      if (error.message !== lastMessage) [since, lastMessage] = [Date.now(), error.message];
      if (Date.now() - since >= PATIENCE * 1000) throw new Failure(error.status, error.title, error.message, error.hint);
      onBusy(error);
      await pause(Math.min(error.seconds, MAX_WAIT) * 1000, signal);
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
