type Ask = (
  method: string,
  path: string,
  body?: unknown,
) => Promise<{ status: number; body: { id: string } }>;

/** More than one page of a list. */
const COUNT = 60;

/** Long names for layout tests, and ordinary ones. */
const nameOf = (noun: string, at: number): string =>
  [
    `${noun} ${"that collects everything of every region and writes it down twice, for safety ".repeat(3)}`.trim(),
    `${noun}-${"Donaudampfschifffahrtsgesellschaft".repeat(5)}`,
    `${noun} مرحبا بالعالم`,
  ][at] ?? `${noun} of region ${at}`;

const TAGS = ["finance", "orders", "a tag that is longer than others", "weekly", "shop"];

/** Pages of the resources with the longest names, with and without a place to break them. */
export const LONG_NAMES: readonly string[] = ["WORDS", "WORD"].flatMap((each) => [
  `/automations/${each}AUTOMATION`,
  `/automations/${each}AUTOMATION/edit`,
  `/automation-runs/${each}RUN`,
  `/actions/${each}ACTION`,
  `/connections/${each}CONNECTION`,
  `/dashboards/${each}DASHBOARD`,
]);

/** Fills an empty workspace with long lists of resources with long names. Returns the IDs that paths refer to. */
export async function fillCrowd(ask: Ask): Promise<Record<string, string>> {
  const ids: Record<string, string> = {};
  const create = async (path: string, body: object) => {
    const reply = await ask("POST", `/api/v1/${path}`, body);
    if (reply.status >= 300) throw new Error(`${path}: ${reply.status} ${JSON.stringify(reply.body)}`);
    return reply.body.id;
  };
  for (let at = 0; at < COUNT; at++) {
    const connection = await create("connections", {
      name: nameOf("Folder", at),
      provider: "local_files",
      slug: `folder-${at}`,
    });
    const action = await create("actions", {
      name: nameOf("Query", at),
      slug: `query-${at}`,
      kind: "duckdb_transform",
      definition: { sql: at % 3 === 1 ? "SELECT * FROM raw.nothing" : "SELECT 1 AS one" },
      tags: TAGS.slice(0, at % 4),
    });
    const automation = await create("automations", {
      name: nameOf("Automation", at),
      slug: `automation-${at}`,
      triggerType: "manual",
      tags: TAGS.slice(0, at % 5),
      config: { steps: [{ key: `step-${at}`, name: nameOf("Step", at), actionId: action }] },
    });
    const run = at < 6 ? await create(`automations/${automation}/run`, {}) : "";
    const dashboard = await create("dashboards", { name: nameOf("Dashboard", at), panels: [] });
    await create("agents/specs", {
      markdown: `---\nname: Agent ${at}\ndescription: ${nameOf("Answers", at)}\ntools:\n  - query\n---\nAnswer.\n`,
    });
    await create("webhooks", {
      url: `https://example.com/${nameOf("hook", at).replace(/\W/g, "-")}`,
      events: ["*"],
    });
    const word = ["WORDS", "WORD"][at];
    if (word === undefined) continue;
    ids[`${word}AUTOMATION`] = automation;
    ids[`${word}RUN`] = run;
    ids[`${word}ACTION`] = action;
    ids[`${word}CONNECTION`] = connection;
    ids[`${word}DASHBOARD`] = dashboard;
  }
  return ids;
}
