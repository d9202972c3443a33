import { svelte } from "@sveltejs/vite-plugin-svelte";
import type { Plugin } from "vite";
import { defineConfig } from "vitest/config";
import { BUNDLED, licenses } from "./licenses/plugin";

/** Omits OpenChemLib's tables for conformers and properties (1.3 MB), which the structure editor does not need. */
const withoutTables: Plugin = {
  name: "without-tables",
  generateBundle(_, bundle) {
    for (const file of Object.keys(bundle)) if (/resources-.*\.json$/.test(file)) delete bundle[file];
  },
};

export default defineConfig({
  plugins: [svelte(), withoutTables, licenses],
  build: {
    license: { fileName: BUNDLED },
    assetsInlineLimit: 0, // the Content-Security-Policy allows no data: script or style
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 1600, // kB: the structure editor and Swagger UI, which are loaded on demand
    rolldownOptions: { input: ["index.html", "docs.html"] },
  },
  test: { environment: "./vitest.environment.ts" },
  server: { proxy: { "/openapi.json": "http://127.0.0.1:8000", "/v1": "http://127.0.0.1:8000" } },
});
