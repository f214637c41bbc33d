import { t } from "../../texts/text.ts";
/** Sentences used on several pages. */
export const cantUndo = () => t("This can't be undone.");
export const copyNow = () => t("Copy it now. You won't be able to see it again.");
export const onlyAdminsChange = () => t("Only admins can change this.");
export const onlyAdminsSignIn = () => t("Ask an admin to sign in.");
export const pageLost = () => t("Part of this page failed to load. Reload to try again.");
export const slugFromName = () => t("Generated from the name");

/** Returns what is wrong with a text that isn't JSON. */
export const jsonProblem = (error: unknown): string =>
  error instanceof Error ? error.message : t("Invalid JSON");
