export const SCALE_TYPES = ["linear", "log"] as const;
/** How values are spread along the axis of a plot. */
export type ScaleType = (typeof SCALE_TYPES)[number];
