import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { AppError } from "../base/errors.ts";
import { isObject, type Json, parseJson } from "../base/json.ts";
import { parseNumberTexts } from "../base/json-numbers.ts";
import type { Reply } from "../calls.ts";
import { plain } from "./client.ts";
import { differencesOf, shortText } from "./differences.ts";
import { editFile } from "./editor.ts";
import { type Host, UsageError } from "./host.ts";
import { actionId, jsonInput } from "./input.ts";
import { printJson } from "./show.ts";
import { type Api, apiOf, type TextReply, verb } from "./verbs.ts";

const PRECONDITION_FAILED = 412;

type Action = Reply<"GET /api/v1/actions/{action_id}">;

/** `weir actions edit ACTION` */
export const edit = verb({
  words: "ACTION",
  options: { definition: { type: "string" } },
  async run({ flags, words, host }) {
    const input = await jsonInput(host, "--definition", flags.definition, parseNumberTexts);
    if (input === undefined && host.ask === null)
      throw new UsageError("Missing flag: --definition. It is required without a terminal.");
    const api = apiOf({ flags, host });
    const action = await readAction(api, await actionId(api, words[0] ?? ""));
    const sent =
      input === undefined ? await editUntilSent(host, api, action) : await send(api, action, input);
    if (flags.json) return printJson(host, (sent ?? action).text);
    report(host, action.body, (sent ?? action).body);
  },
});

const readAction = (api: Api, id: string): Promise<TextReply<Action>> =>
  api.call("GET /api/v1/actions/{action_id}", { path: { action_id: id } });

/** Updates the action only if it hasn't changed since it was read. */
async function send(
  api: Api,
  { body, tag }: TextReply<Action>,
  definition: Json,
): Promise<TextReply<Action>> {
  return api.call("PATCH /api/v1/actions/{action_id}", {
    path: { action_id: body.id },
    body: { definition },
    ifMatch: tag,
  });
}

/**
 * Lets the user edit the definition until the server accepts it. Null if nothing was changed.
 * If the user gives up, the file is kept, and the error names it.
 */
async function editUntilSent(
  host: Host,
  api: Api,
  action: TextReply<Action>,
): Promise<TextReply<Action> | null> {
  const folder = mkdtempSync(join(tmpdir(), "weir-edit-"));
  const path = join(folder, `${action.body.slug}.json`);
  const before = `${JSON.stringify(action.body.definition, null, 2)}\n`;
  writeFileSync(path, before, { mode: 0o600 });
  let isKept = false;
  try {
    for (;;) {
      await editFile(host, path);
      const text = readFileSync(path, "utf8");
      if (text === before) return null;
      isKept = true;
      try {
        const sent = await send(api, action, parse(text));
        isKept = false;
        return sent;
      } catch (error) {
        // Edits never overwrite someone else's change.
        if (!(error instanceof AppError) || error.details?.status === PRECONDITION_FAILED) throw error;
        host.err(error.message);
        if (!(await wantsMore(host)))
          throw new AppError("cancelled", "Nothing was changed.", { cause: error });
      }
    }
  } catch (error) {
    if (isKept) host.err(`Your edit is in ${path}.`);
    throw error;
  } finally {
    if (!isKept) rmSync(folder, { recursive: true, force: true });
  }
}

const wantsMore = async ({ ask }: Host): Promise<boolean> =>
  ask !== null && /^(y|yes)?$/i.test((await ask("Edit again? [Y/n] ", false)).trim());

function parse(text: string): Json {
  try {
    const value = parseJson(text, [], parseNumberTexts);
    if (isObject(value)) return value;
  } catch (cause) {
    const reason =
      cause instanceof Error ? cause.message.replace(/^[: ]*(Invalid JSON: )?/, "") : "unreadable";
    throw new AppError("definition_invalid", `The definition isn't valid JSON: ${reason}`, { cause });
  }
  throw new AppError("definition_invalid", "The definition must be a JSON object.");
}

function report(host: Host, before: Action, after: Action): void {
  const changes = differencesOf(before.definition, after.definition);
  if (changes.length === 0) return host.out(plain(`${after.name}: no changes.`));
  for (const { path, from, to } of changes)
    host.out(plain(`${path.join(".")}: ${shortText(from)} → ${shortText(to)}`));
  host.out(plain(`Action ${after.name} updated.`));
}
