import { ApiError, call } from "../../api.ts";
import type { Reply } from "../../calls.ts";

export type StoredDraft = Reply<"GET /api/v1/automations/{automation_id}/draft">;

/** Reads the draft of an automation. Null if there is none. */
export const readDraft = (id: string): Promise<StoredDraft | null> =>
  call("GET /api/v1/automations/{automation_id}/draft", { path: { automation_id: id } }).catch((error) => {
    if (error instanceof ApiError && error.status === 404) return null;
    throw error;
  });
