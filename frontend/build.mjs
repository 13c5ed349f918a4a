// Builds the page's script and style into the Python package, where they are committed.
// `node build.mjs --outdir DIR` builds elsewhere: that is how the tests compare.
import { build } from "esbuild";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const at = process.argv.indexOf("--outdir");
const outdir = at > 0 ? resolve(process.argv[at + 1]) : join(here, "..", "src", "manifolia", "explorer", "static");

const shared = {
  absWorkingDir: here,
  bundle: true,
  target: ["chrome109", "firefox115", "safari16.4"],
  charset: "ascii", // the page is hashed as bytes; nothing may depend on how it is read
  minify: true,
  legalComments: "none",
  outdir,
  logLevel: "warning",
};
// The page of a file, which makes no request; the page that is served; two maps side by side; the frame around the page in a notebook.
await build({
  ...shared,
  entryPoints: { explorer: "src/main.ts", live: "src/served.ts", compare: "src/compare.ts" },
  format: "iife",
});
await build({ ...shared, entryPoints: { widget: "src/widget.ts" }, format: "esm" });
await build({ ...shared, entryPoints: { explorer: "src/page.css", compare: "src/compare.css" } });
