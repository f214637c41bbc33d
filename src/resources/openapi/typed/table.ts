import { ACTIONS } from "./actions.ts";
import { AUTOMATIONS } from "./automations.ts";
import { configFile } from "./config-file.ts";
import { CONNECTIONS } from "./connections.ts";
import type { Typed } from "./draw.ts";
import { TEMPLATES } from "./templates.ts";
import { TEXTS } from "./texts.ts";

export type { Draw } from "./draw.ts";

/** Components that a single shape can't express: unions, and alternatives to values. */
export const TYPED: Readonly<Record<string, Typed>> = {
  ...TEXTS,
  ...ACTIONS,
  ...AUTOMATIONS,
  ...CONNECTIONS,
  ...TEMPLATES,
  ConfigFile: configFile,
};
