import { once, t } from "../../texts/text.ts";

const names = once(
  () =>
    new Map([
      ["Ctrl", t("Ctrl")],
      ["Shift", t("Shift")],
      ["Enter", t("Enter")],
      ["Home", t("Home|key")],
      ["End", t("End|key")],
      ["Del", t("Del")],
    ]),
);

/** Names keys as on keyboards in the page's language: `Strg+Eingabe` for `Ctrl+Enter`. */
export const keyNames = (keys: string): string =>
  keys.replace(/[A-Z][a-z]+/g, (key) => names().get(key) ?? key);
