// Bundles main.jsx, main.js and worker.js of every page into the folder of the built pages.
//     node build.mjs OUTPUT
import { build } from "esbuild";
import { compile } from "svelte/compiler";
import fs from "node:fs";
import path from "node:path";

const svelte = {
  name: "svelte",
  setup(steps) {
    steps.onLoad({ filter: /\.svelte$/ }, ({ path: file }) => ({
      contents: compile(fs.readFileSync(file, "utf8"), { filename: file, css: "injected" }).js.code,
      loader: "js",
    }));
  },
};

const output = process.argv[2];
const pages = path.resolve("pages");
for (const page of fs.readdirSync(pages)) {
  const entries = fs.readdirSync(path.join(pages, page)).filter((name) => /^(main|later|worker)\.(jsx?)$/.test(name));
  if (!entries.length) continue;
  await build({
    entryPoints: entries.map((name) => path.join(pages, page, name)),
    outdir: path.join(output, page),
    bundle: true,
    external: ["/tabs.js"],
    minify: true,
    splitting: true,
    format: "esm",
    jsx: "automatic",
    conditions: ["browser", "production"],
    define: { "process.env.NODE_ENV": '"production"' },
    plugins: [svelte],
    logLevel: "error",
  });
}
