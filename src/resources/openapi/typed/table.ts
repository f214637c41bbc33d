import { ACTIONS } from "./actions.ts";
import { AUTOMATIONS } from "./automations.ts";
import { configFile } from "./config-file.ts";
import { CONNECTIONS } from "./connections.ts";
import type { Typed } from "./draw.ts";
import { TEMPLATES } from "./templates.ts";
import { TEXTS } from "./texts.ts";

export type { Draw } from "./draw.ts";

/** The components that are drawn by hand, as no single shape says them: unions, and what stands for values. */
export const TYPED: Readonly<Record<string, Typed>> = {
  ...TEXTS,
  ...ACTIONS,
  ...AUTOMATIONS,
  ...CONNECTIONS,
  ...TEMPLATES,
  ConfigFile: configFile,
};
