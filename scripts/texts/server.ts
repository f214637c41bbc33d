import { executors } from "../../src/executors/registry.ts";
import type { TextUse } from "./uses.ts";

/** Texts that the server gives and the page translates: titles and descriptions of the kinds of actions. */
export const serverTexts = (): TextUse[] =>
  Object.values(executors)
    .flatMap(({ title, description }) => [title, description])
    .map((key) => ({ key, names: [], isPlural: false, line: 0, isAtLoad: false }));
