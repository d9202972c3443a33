import type { Job } from "../api/replies";

/** The last job of this page that succeeded, until the user dismisses the note about it. */
export const outcome = $state<{ job: Job | null }>({ job: null });
