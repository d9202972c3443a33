import { expect, it } from "vitest";

const SOURCES = import.meta.glob<string>(["./**/*.ts", "./**/*.svelte"], { query: "?raw", import: "default", eager: true });
const IMPORT = /^\s*import (?:[^;]*? from )?"(\.[^"]+)";/gm;

/** Return the modules of the page, each with the modules that it imports. */
function modules(): Map<string, string[]> {
  const resolved = (from: string, to: string) => {
    const path = `.${new URL(to, `file://${from.slice(1)}`).pathname}`;
    return [path, `${path}.ts`].filter((candidate) => candidate in SOURCES);
  };
  return new Map(
    Object.entries(SOURCES).map(([path, text]) => [
      path,
      [...text.matchAll(IMPORT)].flatMap(([, target = ""]) => resolved(path, target)),
    ]),
  );
}

/** Return the first import cycle as a list of modules; empty if there is none. */
function cycle(imports: Map<string, string[]>): string[] {
  const done = new Set<string>();
  const visit = (module: string, path: string[]): string[] => {
    if (path.includes(module)) return [...path.slice(path.indexOf(module)), module];
    if (done.has(module)) return [];
    for (const target of imports.get(module) ?? []) {
      const firstCycle = visit(target, [...path, module]);
      if (firstCycle.length) return firstCycle;
    }
    done.add(module);
    return [];
  };
  for (const module of imports.keys()) {
    const firstCycle = visit(module, []);
    if (firstCycle.length) return firstCycle;
  }
  return [];
}

it("no modules import each other in a cycle", () => {
  const imports = modules();
  expect(imports.get("./address.ts")).toContain("./filter/conditions.ts");
  expect(cycle(imports)).toEqual([]);
});

it("cycle finds an import cycle", () => {
  expect(cycle(new Map([["a", ["b"]], ["b", ["c"]], ["c", ["b"]]]))).toEqual(["b", "c", "b"]);
});
