import type { Environment } from "vitest/runtime";

/** Units are compiled as for a browser, though there is none. */
export default { name: "page", viteEnvironment: "client", setup: () => ({ teardown() {} }) } satisfies Environment;
