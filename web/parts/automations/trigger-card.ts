import type { Automation } from "../../calls.ts";
import { t } from "../../texts/text.ts";
import { triggerIcon } from "../base/kind-icons.tsx";
import type { TriggerCard } from "../canvas/nodes.ts";
import type { Values } from "../form/form.tsx";
import { cronInWords } from "./cron-words.ts";

const NAMES: Readonly<Record<Automation["triggerType"], string>> = {
  manual: t("Started manually"),
  webhook: t("Webhook"),
  form: t("Form"),
  schedule: t("Schedule"),
  event: t("Event"),
};

/** `Europe/Zurich` as "Zurich". */
const cityOf = (zone: string) => zone.replace(/^.*\//, "").replaceAll("_", " ");

/** Content of the trigger's card on the canvas. */
export function triggerCard(type: Automation["triggerType"], config: Values): TriggerCard {
  const { schedule, path, event, form } = config as {
    schedule?: { cron?: string; timezone?: string };
    path?: string;
    event?: { types?: string[] };
    form?: { title?: string };
  };
  const summary =
    type === "schedule"
      ? [cronInWords(schedule?.cron ?? "") ?? schedule?.cron, cityOf(schedule?.timezone ?? "UTC")]
          .filter(Boolean)
          .join(", ")
      : type === "webhook"
        ? `POST /${path ?? ""}`
        : type === "event"
          ? (event?.types ?? []).join(", ")
          : type === "form"
            ? (form?.title ?? "")
            : t("Person, API or automation");
  return { name: NAMES[type] ?? type, summary, icon: triggerIcon(type) };
}
