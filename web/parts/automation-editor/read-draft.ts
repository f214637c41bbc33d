import { ApiError, call } from "../../api.ts";
import type { Reply } from "../../calls.ts";

export type StoredDraft = Reply<"GET /api/v1/automations/{automation_id}/draft">;

/** The draft of an automation, or null where it has none. */
export const readDraft = (id: string): Promise<StoredDraft | null> =>
  call("GET /api/v1/automations/{automation_id}/draft", { path: { automation_id: id } }).catch((error) => {
    if (error instanceof ApiError && error.status === 404) return null;
    throw error;
  });
