import { type Column, eq, isNull, or, type SQL } from "drizzle-orm";
import { AppError } from "../../base/errors.ts";

/** Who reads the data. */
export interface Viewer {
  readonly actor: { readonly id: string };
}

/** The fields of a run, an automation run or an artifact that say whose it is. */
interface Owned {
  readonly privateTo: string | null;
}

/** What others see instead of the content of a private chat's run. */
export const WHY = "Started from a private chat. Only its user can see the input and result.";

export const isHidden = ({ actor }: Viewer, { privateTo }: Owned): boolean =>
  privateTo !== null && privateTo !== actor.id;

/** Throws `forbidden` for anyone except the user whose private chat started it. */
export function refuseOthers(viewer: Viewer, row: Owned): void {
  if (isHidden(viewer, row)) throw new AppError("forbidden", WHY);
}

/** Throws `forbidden` if others than the user who sees the artifact would see the run that reads it. */
export function refuseOpenRuns(run: Owned, { privateTo }: Owned): void {
  if (privateTo === null || privateTo === run.privateTo) return;
  throw new AppError(
    "forbidden",
    "This artifact belongs to a private chat, so only runs that its user starts in a private chat can read it.",
  );
}

/** Selects the rows that `viewer` sees completely. */
export const openTo = ({ actor }: Viewer, privateTo: Column): SQL | undefined =>
  or(isNull(privateTo), eq(privateTo, actor.id));
