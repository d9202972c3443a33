import type { Plugin } from "vite";
import embedded from "./embedded.json";

/** A list of the packages in the page, which Vite makes from the modules that it bundled. */
export const BUNDLED = "third-party-licenses.json";
const FILE = "third-party-licenses.txt";
const INTRODUCTION = `Licenses of third-party packages

The web page of graphkin contains code of these packages. A line names each package and its license. The text of the
license follows.`;

interface Package {
  name: string;
  version: string;
  identifier?: string;
  text?: string;
}

function section(titles: string[], texts: string[]): string {
  return ["=".repeat(100), titles.join("\n"), ...texts].join("\n\n").replaceAll("\r\n", "\n");
}

/** Writes Vite's list as a text, with the notices of packages and the licenses of the packages inside Swagger UI. */
export const licenses: Plugin = {
  name: "licenses",
  generateBundle: {
    order: "post",
    async handler(_, bundle) {
      const list = bundle[BUNDLED];
      if (list?.type !== "asset") throw new Error(`Vite made no ${BUNDLED}`);
      delete bundle[BUNDLED];
      const sections: string[] = [];
      for (const { name, version, identifier, text } of JSON.parse(String(list.source)) as Package[]) {
        if (!identifier || !text) throw new Error(`The package ${name} has no license`);
        const folder = decodeURIComponent(new URL(`../node_modules/${name}`, import.meta.url).pathname);
        const hasNotice = (await this.fs.readdir(folder)).includes("NOTICE");
        const notices = hasNotice ? [await this.fs.readFile(`${folder}/NOTICE`, { encoding: "utf8" })] : [];
        sections.push(section([`${name} ${version}: ${identifier}`], [text, ...notices.map((notice) => notice.trim())]));
      }
      for (const { names, license, text } of embedded) {
        const titles = names.map((name) => `${name}, inside swagger-ui-dist: ${license}`);
        sections.push(section(titles, [text]));
      }
      this.emitFile({ type: "asset", fileName: FILE, source: `${[INTRODUCTION, ...sections].join("\n\n")}\n` });
    },
  },
};
