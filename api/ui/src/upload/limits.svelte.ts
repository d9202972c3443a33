import type { UploadLimits } from "../api/replies";

/** Limits of uploads, as the server last reported them; null if the server or the key of this tab permits none. */
export const uploads = $state<{ limits: UploadLimits | null }>({ limits: null });
