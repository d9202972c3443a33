import { svelte } from "@sveltejs/vite-plugin-svelte";
import type { Plugin } from "vite";
import { defineConfig } from "vitest/config";

/** OpenChemLib's tables for conformers and properties, 1.3 MB: drawing does not need them. */
const withoutTables: Plugin = {
  name: "without-tables",
  generateBundle(_, bundle) {
    for (const file of Object.keys(bundle)) if (/resources-.*\.json$/.test(file)) delete bundle[file];
  },
};

export default defineConfig({
  plugins: [svelte(), withoutTables],
  build: {
    assetsInlineLimit: 0, // the Content-Security-Policy allows no data: script or style
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 1200, // kB: the structure editor, which is loaded on demand
  },
  test: { environment: "./vitest.environment.ts" },
  server: { proxy: { "/v1": "http://127.0.0.1:8000" } },
});
