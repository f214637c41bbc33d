import { call } from "../../api.ts";
import type { Automation } from "../../calls.ts";
import { t } from "../../texts/text.ts";
import { plural } from "../base/plural.ts";
import { cantUndo } from "../base/texts.ts";
import { BulkButtons, type Change } from "../table/bulk-buttons.tsx";
import type { Moving } from "../table/folders.tsx";
import { ExportAutomations } from "./export-button.tsx";

const TOUCHES = ["/automations", "/tags", "/overview"] as const;

const pathOf = ({ id }: Automation) => ({ path: { automation_id: id } });

const change = (each: Automation, body: Change) =>
  call("PATCH /api/v1/automations/{automation_id}", { ...pathOf(each), body }, { basedOn: each });

/** How automations are moved to folders. */
export const AUTOMATIONS_MOVING: Moving<Automation> = {
  change,
  texts: {
    done: { one: "# automation moved", other: "# automations moved" },
    failed: { one: "Couldn't move # automation", other: "Couldn't move # automations" },
  },
  touches: TOUCHES,
};

/** Operations on automations that are selected in the list. */
export const BulkAutomations = ({
  chosen,
  onDone,
}: {
  chosen: readonly Automation[];
  onDone: () => void;
}) => (
  <BulkButtons
    chosen={chosen}
    onDone={onDone}
    touches={TOUCHES}
    moving={AUTOMATIONS_MOVING}
    change={change}
    remove={(each) => call("DELETE /api/v1/automations/{automation_id}", pathOf(each), { basedOn: each })}
    texts={{
      enabled: {
        done: { one: "# automation enabled", other: "# automations enabled" },
        failed: { one: "Couldn't enable # automation", other: "Couldn't enable # automations" },
      },
      disabled: {
        done: { one: "# automation disabled", other: "# automations disabled" },
        failed: { one: "Couldn't disable # automation", other: "Couldn't disable # automations" },
      },
      tagged: {
        done: { one: "# automation tagged", other: "# automations tagged" },
        failed: { one: "Couldn't tag # automation", other: "Couldn't tag # automations" },
      },
      deleted: {
        done: { one: "# automation deleted", other: "# automations deleted" },
        failed: { one: "Couldn't delete # automation", other: "Couldn't delete # automations" },
      },
    }}
    deleting={{
      title: plural(chosen.length, { one: "Delete # automation?", other: "Delete # automations?" }),
      about: (
        <p>
          {t("Their webhooks will be rejected and their scheduled runs stop. Their runs are kept.")}{" "}
          {cantUndo()}
        </p>
      ),
    }}
  >
    <ExportAutomations of={chosen} />
  </BulkButtons>
);
