import { type Clock, systemClock } from "../../src/base/clock.ts";
import type { JsonObject } from "../../src/base/json.ts";
import type { ExtractRequest, Link, Provider } from "../../src/providers/contract.ts";
import { link } from "./link.ts";

/** A clock whose sleeps end immediately, and are recorded. Only they advance its time. */
export function leapingClock(start = "2026-06-01T00:00:00Z"): Clock & { waits: number[] } {
  let passed = 0;
  const waits: number[] = [];
  return {
    waits,
    now: () => new Date(Date.parse(start) + passed),
    monotonic: () => passed,
    async sleep(ms) {
      waits.push(ms);
      passed += ms;
    },
    limit: systemClock.limit,
  };
}

/** A link of a separate connection, with what it reported. */
export function toldLink(
  config: JsonObject,
  credentials: Record<string, string>,
  overrides: Partial<Link> = {},
): Link & { warnings: string[]; clock: Clock & { waits: number[] } } {
  const warnings: string[] = [];
  const clock = leapingClock();
  return {
    ...link(config, credentials, {
      connectionId: crypto.randomUUID(),
      warn: (text) => {
        if (!warnings.includes(text)) warnings.push(text);
      },
      ...overrides,
    }),
    clock,
    warnings,
  };
}

export const request = (spec: string, more: Partial<ExtractRequest> = {}): ExtractRequest => ({
  spec,
  columns: null,
  where: null,
  range: null,
  maxRows: null,
  batchSize: null,
  ...more,
});

/** Pages of a source of rows, not requested yet. */
export async function pagesOf(provider: Provider, link: Link, asked: ExtractRequest) {
  const extraction = await provider.extract?.(link, asked);
  if (extraction?.kind !== "rows") throw new Error("It gives no rows.");
  return extraction.pages;
}

/** All rows, read to the end. */
export async function rowsOf(provider: Provider, link: Link, asked: ExtractRequest): Promise<JsonObject[]> {
  const rows: JsonObject[] = [];
  for await (const page of await pagesOf(provider, link, asked)) rows.push(...page);
  return rows;
}
