/**
 * Writes embedded.json: the licenses of the packages inside the bundles of swagger-ui-dist, which ships few of them.
 *
 * Run it after an update of swagger-ui-dist: `node licenses/embedded.mjs FOLDER`. FOLDER is one in which
 * `npm install --ignore-scripts --legacy-peer-deps swagger-ui` ran. The script names the packages to install there too.
 */

import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const BUNDLES = ["swagger-ui-es-bundle.js", "swagger-ui.css"];
const LICENSE_FILE = /^(licen[cs]es?|copying|notice)\b/i;

/** Returns the name of the package of each source in the source map of a bundle. */
function packagesIn(bundle) {
  const map = new URL(`../node_modules/swagger-ui-dist/${bundle}.map`, import.meta.url);
  const { sources } = JSON.parse(readFileSync(map, "utf8"));
  return sources.flatMap((source) => /.*node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(source)?.[1] ?? []);
}

/** Returns the texts of the license files in a folder, of which some packages have a folder of their own. */
function textsIn(folder) {
  return readdirSync(folder)
    .filter((name) => LICENSE_FILE.test(name))
    .flatMap((name) => {
      const path = join(folder, name);
      if (!statSync(path).isDirectory()) return [readFileSync(path, "utf8").replaceAll("\r\n", "\n").trim()];
      return readdirSync(path).map((each) => readFileSync(join(path, each), "utf8").replaceAll("\r\n", "\n").trim());
    });
}

/** Returns the license of an installed package and its text. Three packages name a license and have no file with it. */
function licenseOf(name) {
  const folder = join(process.argv[2], "node_modules", name);
  const { license, licenses, author } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  const identifier = (license ?? licenses[0].type).replace(/^\((.*)\)$/, "$1");
  const holder = (typeof author === "string" ? author : author?.name)?.replace(/ *[<(].*/, "") ?? `the authors of ${name}`;
  const reference = `Copyright (c) ${holder}. ${name} has no file with the text of its license, ${identifier}.`;
  return { license: identifier, text: textsIn(folder).join("\n\n") || reference };
}

const names = [...new Set([...BUNDLES.flatMap(packagesIn), "normalize.css"])].sort();
const missing = names.filter((name) => !statSync(join(process.argv[2], "node_modules", name), { throwIfNoEntry: false }));
if (missing.length) throw new Error(`not installed in ${process.argv[2]}: ${missing.join(" ")}`);
const groups = Object.groupBy(names, (name) => JSON.stringify(licenseOf(name)));
const entries = Object.entries(groups).map(([license, names]) => ({ names, ...JSON.parse(license) }));
writeFileSync(new URL("embedded.json", import.meta.url), `${JSON.stringify(entries, null, 2)}\n`);
