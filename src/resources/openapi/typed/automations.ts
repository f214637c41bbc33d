import { isObject, type JsonObject } from "../../../base/json.ts";
import { CONFIGS } from "../../automations/config-shapes.ts";
import { TRIGGER_TYPES, type TriggerType } from "../../automations/table.ts";
import { change, type Draw, only, pascal, type Typed, variant } from "./draw.ts";

const configName = (trigger: TriggerType) => `${pascal(trigger)}AutomationConfig`;

const TITLES: Readonly<Record<TriggerType, string>> = {
  manual: "Manual",
  webhook: "Webhook",
  form: "Form",
  schedule: "Schedule",
  event: "Event",
};

/** Descriptions of the triggers, also for the documentation. */
export const TRIGGERS: Readonly<Record<TriggerType, string>> = {
  manual: "Starts when a person, the API or another automation runs it.",
  webhook: "Starts with each request that another system sends to its address.",
  form: "Starts when someone submits its form.",
  schedule: "Starts at the times of a cron expression.",
  event: "Starts with events of the audit log, such as a failed run.",
};

const configs = Object.fromEntries(
  TRIGGER_TYPES.map((trigger): [string, Typed] => [
    configName(trigger),
    {
      draw: ({ plain }) => ({
        title: TITLES[trigger],
        description: TRIGGERS[trigger],
        ...plain(CONFIGS[trigger]),
        oneOf: [{ required: ["action"] }, { required: ["steps"] }],
      }),
    },
  ]),
);

/** Returns one variant of `whole` for each trigger, with its config. */
export const byTrigger = (draw: Draw, whole: JsonObject): JsonObject[] =>
  TRIGGER_TYPES.map((trigger) => {
    const isDefault = trigger === "manual";
    const tag = only(trigger, "What starts the automation");
    return variant(whole, {
      title: TITLES[trigger],
      description: TRIGGERS[trigger],
      fields: {
        triggerType: isDefault ? { ...tag, default: trigger } : tag,
        config: draw.ref(configName(trigger)),
      },
      needs: isDefault ? [] : ["triggerType"],
    });
  });

/** Returns the fields of all triggers, each once. */
function allFields({ plain }: Draw): JsonObject {
  const drawn = TRIGGER_TYPES.map((trigger) => plain(CONFIGS[trigger]).properties);
  return { properties: Object.assign({}, ...drawn.filter(isObject)) as JsonObject };
}

export const AUTOMATIONS: Readonly<Record<string, Typed>> = {
  ...configs,
  AutomationConfig: {
    draw: ({ ref }) => ({
      description: "Trigger and steps. Depends on triggerType",
      anyOf: TRIGGER_TYPES.map((trigger) => ref(configName(trigger))),
    }),
  },
  AutomationConfigChange: {
    draw: (draw) => ({
      ...change(allFields(draw)),
      description: "Fields to change, of those of the triggerType. Null removes one",
    }),
  },
  AutomationCreate: {
    draw(draw, schema) {
      const whole = draw.plain(schema);
      const draft = variant(whole, {
        title: "Draft",
        description: "An unfinished automation. Required fields can be missing.",
        fields: {
          status: only("draft", "A draft: nothing starts it"),
          config: draw.ref("AutomationConfigChange"),
        },
        needs: ["status"],
      });
      return { description: "A new automation, by its trigger.", anyOf: [...byTrigger(draw, whole), draft] };
    },
  },
};
