import type { Json } from "../../base/json.ts";
import { plural } from "../../base/plural.ts";
import type { Board, BoardPanel } from "./board.ts";

/** Rows of a table on the page; the artifact has them all. */
const PAGE_ROWS = 200;

const STYLE = `
:root { color-scheme: light; font: 15px/1.5 system-ui, sans-serif; color: #1c1917; background: #fafaf9; }
body { max-width: 1200px; margin: 0 auto; padding: 2rem 1.25rem; }
h1 { font-size: 1.5rem; margin: 0; } h2 { font-size: 1rem; margin: 0 0 .75rem; }
p { margin: .25rem 0 1.5rem; color: #57534e; }
main { display: grid; grid-template-columns: repeat(12, minmax(0, 1fr)); gap: 1rem; }
section { background: #fff; border: 1px solid #e7e5e4; border-radius: .75rem; padding: 1rem; overflow: auto; }
img { width: 100%; height: auto; } .note { color: #78716c; padding: 2rem 0; text-align: center; margin: 0; }
table { border-collapse: collapse; width: 100%; font-size: .875rem; font-variant-numeric: tabular-nums; }
th, td { text-align: left; padding: .25rem .75rem .25rem 0; border-bottom: 1px solid #e7e5e4; }
td.n, th.n { text-align: right; } details { margin-top: .75rem; font-size: .8125rem; color: #57534e; }
pre { white-space: pre-wrap; overflow-wrap: anywhere; }
@media (max-width: 720px) { section { grid-column: 1 / -1 !important; } }
@media print { section { break-inside: avoid; } }`.trim();

/** Returns the dashboard as one self-contained HTML file: no script, no request, only text and images. */
export function pageOf(board: Board): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; img-src data:">
<title>${escaped(board.title)}</title>
<style>${STYLE}</style>
</head>
<body>
<h1>${escaped(board.title)}</h1>
<p>As of ${escaped(board.createdAt)}</p>
<main>
${board.panels.map(sectionOf).join("\n")}
</main>
</body>
</html>
`;
}

function sectionOf(panel: BoardPanel): string {
  const { title, sql, provenance, truncated, rows } = panel;
  const from = provenance.tables.map(
    ({ layer, dataset, table, version, rows: all, asOf }) =>
      `<li>${escaped(`${layer}.${dataset}, table ${table}: ${asOf === undefined ? `version ${version}` : `as of load ${asOf}`}, ${rowsOf(all)}`)}</li>`,
  );
  const cut = truncated ? `<p>Shows only the first ${rowsOf(rows.length)}.</p>` : "";
  return `<section style="grid-column: span ${panel.width}">
<h2>${escaped(title)}</h2>
${bodyOf(panel)}
${cut}<details><summary>Sources</summary>
<ul>${from.join("")}</ul>
<pre>${escaped(sql)}</pre>
<div>Queried at ${escaped(provenance.queriedAt)} by run ${escaped(provenance.runId)}.</div>
</details>
</section>`;
}

const rowsOf = (count: number): string => plural(count, { one: "row", other: "rows" });

function bodyOf({ note, svg, title, columns, rows }: BoardPanel): string {
  if (note !== null) return `<p class="note">${escaped(note)}</p>`;
  if (svg !== null) {
    const picture = Buffer.from(svg).toString("base64");
    return `<img alt="${escaped(title)}" src="data:image/svg+xml;base64,${picture}">`;
  }
  const isNumber = columns.map(({ name }) => rows.some((row) => typeof row[name] === "number"));
  const mark = (at: number) => (isNumber[at] ? ' class="n"' : "");
  const head = columns.map(({ name }, at) => `<th${mark(at)}>${escaped(name)}</th>`).join("");
  const body = rows
    .slice(0, PAGE_ROWS)
    .map(
      (row) =>
        `<tr>${columns.map(({ name }, at) => `<td${mark(at)}>${escaped(textOf(row[name] ?? null))}</td>`).join("")}</tr>`,
    );
  const more =
    rows.length > PAGE_ROWS ? `<p>The artifact contains ${rowsOf(rows.length - PAGE_ROWS)} more.</p>` : "";
  return `<table><thead><tr>${head}</tr></thead><tbody>\n${body.join("\n")}\n</tbody></table>${more}`;
}

const textOf = (value: Json): string =>
  value === null ? "" : typeof value === "string" ? value : JSON.stringify(value);

const ENTITIES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};
const escaped = (text: string): string => text.replaceAll(/[&<>"']/g, (sign) => ENTITIES[sign] ?? sign);
