import { AppError } from "../../base/errors.ts";
import type { Context } from "../../context.ts";
import type { Files, Link } from "../../providers/contract.ts";
import { reach } from "../connections/reach.ts";
import { findConnection } from "../connections/service.ts";
import { builtIns } from "../template-library/built-in/all.ts";
import type { InstallResult } from "./wire.ts";

const LIMIT_MS = 30_000;

/** Writes a built-in bundle's sample files into its connections' folders, unless a file of that name exists. */
export async function putSampleFiles(ctx: Context, { bundle, components }: InstallResult): Promise<void> {
  const samples = builtIns.find(({ id }) => id === bundle.id)?.files ?? [];
  for (const { component, entity } of components) {
    const own = samples.filter((sample) => sample.component === component.key);
    if (own.length === 0) continue;
    const row = await findConnection(ctx, entity.id);
    if (row.status === "disabled") continue;
    await reach(ctx, row, { limitMs: LIMIT_MS, purpose: "write" }, async ({ files }, link) => {
      for (const { name, text } of own) if (files) await put(files, link, `/${name}`, text);
    });
  }
}

async function put(files: Files, link: Link, path: string, text: string): Promise<void> {
  if (await isThere(files, link, path)) return;
  const bytes = Buffer.from(text);
  await files.write?.(link, path, new Blob([bytes]).stream(), bytes.length);
}

async function isThere(files: Files, link: Link, path: string): Promise<boolean> {
  try {
    await files.stat(link, path);
    return true;
  } catch (error) {
    if (error instanceof AppError && error.code === "not_found") return false;
    throw error;
  }
}
