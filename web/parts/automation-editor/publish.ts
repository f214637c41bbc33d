import { ApiError, CHANGED, call } from "../../api.ts";
import type { Automation } from "../../calls.ts";
import { t } from "../../texts/text.ts";
import { inSteps } from "../canvas/config.ts";
import type { Values } from "../form/form.tsx";
import { configOf, type DraftStore } from "./draft.ts";
import { faultsBySteps } from "./faults.ts";

/** Merges what others have published since the draft was started. Throws if that can't be read. */
async function takeOver(store: DraftStore, path: { automation_id: string }): Promise<void> {
  const { draft } = store.get();
  if (!draft) return;
  const [now, versions, before] = await Promise.all([
    call("GET /api/v1/automations/{automation_id}", { path }),
    call("GET /api/v1/automations/{automation_id}/versions", { path, query: { limit: 1 } }),
    call("GET /api/v1/automations/{automation_id}/versions/{version}", {
      path: { ...path, version: String(draft.basedOn) },
    }),
  ]);
  const version = versions.versions[0]?.version ?? draft.basedOn;
  const { config = {} } = before.content as { config?: Values };
  await store.rebaseOn(version, inSteps(config), configOf(now));
}

const OF_DRAFT = "GET /api/v1/automations/{automation_id}/draft";

/** Publishes the draft as shown here. If another user has saved changes since, they are merged and shown first. */
async function send(store: DraftStore, path: { automation_id: string }, only?: readonly string[]) {
  try {
    return await call(
      "POST /api/v1/automations/{automation_id}/draft/publish",
      { path, body: only ? { only: [...only] } : {} },
      { matches: OF_DRAFT, basedOn: store.get().draft },
    );
  } catch (error) {
    if (!(error instanceof ApiError) || error.code !== CHANGED) throw error;
    await store.look();
    throw new Error(t("Someone else changed the draft in the meantime. Review it, then publish again."));
  }
}

/**
 * Publishes the draft, or only the named changes in it:
 * saves it, merges what was published in the meantime, and enables an automation that was never active.
 * Null if something has to be resolved or fixed first, which the store then shows.
 */
export async function publish(
  store: DraftStore,
  automation: Automation,
  only?: readonly string[],
): Promise<Automation | null> {
  const path = { automation_id: automation.id };
  await store.save();
  if (store.get().saving === "failed" || store.get().conflicts.length > 0) return null;
  const sent = store.get().base;
  try {
    let now = automation;
    if (store.get().draft) {
      now = await send(store, path, only).catch(async (error: unknown) => {
        if (!(error instanceof ApiError) || error.code !== "conflict") throw error;
        await takeOver(store, path);
        if (store.get().conflicts.length > 0) return null as never;
        return send(store, path, only);
      });
      if (now === null) return null;
      if (only) await store.publishedPart(now);
      else store.published(now);
    }
    if (now.status !== "draft") return now;
    now = await call("GET /api/v1/automations/{automation_id}", { path });
    return await call(
      "PATCH /api/v1/automations/{automation_id}",
      { path, body: { status: "active" } },
      { basedOn: now },
    );
  } catch (error) {
    if (!(error instanceof ApiError) || error.faults.length === 0) throw error;
    store.setFaults(faultsBySteps(error.faults, sent));
    return null;
  }
}
