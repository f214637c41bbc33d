import { AppError } from "../../base/errors.ts";
import type { Json } from "../../base/json.ts";
import type { Api } from "../verbs.ts";
import type { Done as Sent } from "./by-noun.ts";
import { type Plan, type PlanStep, unseenIn } from "./plan.ts";
import { openRequests } from "./requests.ts";
import type { State } from "./state.ts";
import { shownKey } from "./text.ts";

/**
 * Signing secrets that the server generated, by the automation's slug or the webhook's URL. Each is shown only once.
 */
export type Secrets = Record<string, string>;

interface Done {
  secrets: Secrets;
  /** Warnings of the server, each once and with the name of its resource. */
  warnings: string[];
  /** The plan, with resources that were sent again but didn't change counted as unchanged. */
  plan: Plan;
}

interface Undo {
  what: string;
  take(): Promise<void>;
}

/**
 * Executes all steps of a plan, then what can't be undone. If one fails, undoes the previous steps in reverse order.
 * The error reports that, and what couldn't be undone.
 */
export async function carryOutPlan(
  api: Api,
  state: State,
  plan: Plan,
  report: (text: string) => void,
): Promise<Done> {
  const warnings = new Set<string>();
  const requests = openRequests(api, state.things, (message) => {
    if (current !== null) warnings.add(`${nameOf(current)}: ${message}`);
  });
  const secrets: Secrets = {};
  const undos: Undo[] = [];
  const lasting: string[] = [];
  const endings: { step: PlanStep; ending: NonNullable<Sent["ending"]> }[] = [];
  const same = new Set<PlanStep>();
  let current: PlanStep | null = null;
  try {
    for (const step of plan.steps) {
      current = step;
      report(`${nameOf(step)} …`);
      await carryOutStep(step);
    }
    for (const { step, ending } of endings) {
      current = step;
      await ending.send();
      if (ending.lasting !== null) lasting.push(`${nameOf(step)} ${ending.lasting}`);
    }
    const steps = plan.steps.filter((step) => !same.has(step));
    return {
      secrets,
      warnings: [...warnings],
      plan: { ...plan, steps, unchanged: plan.unchanged + same.size },
    };
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    const { code, retryable } = error;
    const path = Array.isArray(error.details?.path) ? error.details.path.map(String) : [];
    const under = current === null ? "" : `${lineIn(current, path)}${nameOf(current)}: `;
    const message = await takeBack(undos, lasting);
    throw new AppError(code, `${under}${error.message.replace(/\.?$/, ".")}\n${message}`, {
      retryable,
      cause: error,
    });
  } finally {
    report("");
  }

  async function carryOutStep(step: PlanStep): Promise<void> {
    const what = nameOf(step);
    if (step.operation === "create") {
      const { noun, key, shown } = step.wanted;
      const { secret, ending } = await requests.create(step.wanted, (id) =>
        undos.push({ what, take: () => requests.remove(noun, id, key) }),
      );
      if (ending) endings.push({ step, ending });
      if (secret !== undefined) secrets[freeName(secrets, shown)] = secret;
    } else if (step.operation === "delete") {
      const { noun, id, key } = step.there;
      await requests.remove(noun, id, key);
      lasting.push(`${what} was deleted`);
    } else {
      const { there, wanted } = step;
      const isSent = step.operation === "send";
      const before = isSent ? await requests.changedAt(there.noun, there.id) : null;
      const { id, ending } = await requests.change(there.noun, there.id, there.body, wanted.body);
      if (ending) endings.push({ step, ending });
      if (isSent && (await requests.changedAt(there.noun, id)) === before) return void same.add(step);
      const sent = unseenIn(wanted.body);
      if (sent.length > 0) lasting.push(`${sent.join(", ")} of ${what} may have been replaced`);
      if (step.operation === "change") undos.push(undoOf(what, step, id));
    }
  }

  function undoOf(
    what: string,
    { there, wanted }: PlanStep & { operation: "change" | "send" },
    id: string,
  ): Undo {
    const back = { ...there.body, credentials: {}, secret: null };
    return {
      what,
      async take() {
        if (id !== there.id) return requests.dropVersion(id, wanted.body.status as Json);
        const was = { ...wanted.body, credentials: {}, secret: null };
        await (await requests.change(there.noun, id, was, back)).ending?.send();
      },
    };
  }
}

/** File and line of a path in the request of a step. Empty for steps without a file. */
export const lineIn = ({ wanted }: PlanStep, path: readonly string[]): string =>
  wanted === null ? "" : `${wanted.place(path.map((step) => (/^\d+$/.test(step) ? Number(step) : step)))}: `;

/** URLs that differ only in their secrets look the same. They must not overwrite each other's secret. */
function freeName(secrets: Secrets, name: string): string {
  let free = name;
  for (let count = 2; free in secrets; count++) free = `${name} (${count})`;
  return free;
}

/** The key of a step's resource, without secrets. */
export const labelOf = ({ wanted, there }: PlanStep): string =>
  wanted === null ? shownKey(there.noun, there.key) : wanted.shown;

export const nameOf = (step: PlanStep): string => `${(step.wanted ?? step.there).noun} ${labelOf(step)}`;

async function takeBack(undos: readonly Undo[], lasting: readonly string[]): Promise<string> {
  const left = [...lasting];
  let taken = 0;
  for (const { what, take } of undos.toReversed()) {
    try {
      await take();
      taken++;
    } catch (error) {
      left.push(`${what} keeps its changes (${error instanceof Error ? error.message : String(error)})`);
    }
  }
  const done =
    taken > 0
      ? `Earlier changes were rolled back (${taken}).`
      : left.length === 0
        ? "Nothing was changed."
        : "";
  return [done, ...left.map((one) => `Could not roll back: ${one}.`)].filter(Boolean).join(" ");
}
