import type { Environment } from "vitest/runtime";

/** Environment that compiles modules as for a browser without providing a DOM. */
export default { name: "page", viteEnvironment: "client", setup: () => ({ teardown() {} }) } satisfies Environment;
