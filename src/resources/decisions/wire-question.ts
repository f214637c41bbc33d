import type { JsonObject } from "../../base/json.ts";
import { maskSecrets } from "../../base/mask.ts";
import { ROLES, type Role } from "../organizations/table.ts";
import { withoutArguments } from "../runs/wire-calls.ts";
import { isHidden, WHY } from "../runs/wire-private.ts";
import type { DecisionRow } from "./table.ts";

/** Who reads a decision. */
export interface Viewer {
  actor: { id: string };
  role: Role;
}

/** Returns whether the viewer can decide: admins, and the assigned member, or every member if none is assigned. */
export function mayDecide({ actor, role }: Viewer, { assignedTo }: Pick<DecisionRow, "assignedTo">): boolean {
  const rank = ROLES.indexOf(role);
  if (rank >= ROLES.indexOf("admin")) return true;
  return assignedTo === actor.id || (assignedTo === null && rank >= ROLES.indexOf("member"));
}

/** Replaces the content of a private chat's approval. */
export const PRIVATE_TITLE = "Request from a private chat";

const NOTHING = {
  title: PRIVATE_TITLE,
  description: null,
  context: { private: WHY },
  formSchema: null,
  formResponse: null,
  rejectionReason: null,
};

/** Others see the content of a private chat's approval while they can decide it, and after they decided it. */
export function visibleTo(viewer: Viewer, row: DecisionRow): DecisionRow {
  const isAsked = row.status === "pending" && mayDecide(viewer, row);
  const isKnown = !isHidden(viewer, row) || isAsked || row.decidedBy === viewer.actor.id;
  return isKnown ? row : { ...row, ...NOTHING };
}

/**
 * Returns the question that users see. It was filled in by templates, so secrets in it are masked.
 * Arguments of a chat's call are shown only to those who can decide on it.
 */
export function question(row: DecisionRow, viewer: Viewer) {
  const { title, description } = row;
  const context = mayDecide(viewer, row) ? row.context : withoutArguments(row.context);
  const shown = maskSecrets({ title, description, context });
  return shown as { title: string; description: string | null; context: JsonObject | null };
}
