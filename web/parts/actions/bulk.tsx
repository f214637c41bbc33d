import { call } from "../../api.ts";
import type { Action } from "../../calls.ts";
import { t } from "../../texts/text.ts";
import { plural } from "../base/plural.ts";
import { cantUndo } from "../base/texts.ts";
import { BulkButtons, type Change } from "../table/bulk-buttons.tsx";
import type { Moving } from "../table/folders.tsx";

const TOUCHES = ["/actions", "/tags", "/overview"] as const;

const pathOf = ({ id }: Action) => ({ path: { action_id: id } });

const change = (each: Action, body: Change) =>
  call("PATCH /api/v1/actions/{action_id}", { ...pathOf(each), body }, { basedOn: each });

/** How actions are moved to folders. */
export const ACTIONS_MOVING: Moving<Action> = {
  change,
  texts: {
    done: { one: "# action moved", other: "# actions moved" },
    failed: { one: "Couldn't move # action", other: "Couldn't move # actions" },
  },
  touches: TOUCHES,
};

/** Operations on actions that are selected in the list. */
export const BulkActions = ({ chosen, onDone }: { chosen: readonly Action[]; onDone: () => void }) => (
  <BulkButtons
    chosen={chosen}
    onDone={onDone}
    touches={TOUCHES}
    moving={ACTIONS_MOVING}
    change={change}
    remove={(each) => call("DELETE /api/v1/actions/{action_id}", pathOf(each), { basedOn: each })}
    texts={{
      enabled: {
        done: { one: "# action enabled", other: "# actions enabled" },
        failed: { one: "Couldn't enable # action", other: "Couldn't enable # actions" },
      },
      disabled: {
        done: { one: "# action disabled", other: "# actions disabled" },
        failed: { one: "Couldn't disable # action", other: "Couldn't disable # actions" },
      },
      tagged: {
        done: { one: "# action tagged", other: "# actions tagged" },
        failed: { one: "Couldn't tag # action", other: "Couldn't tag # actions" },
      },
      deleted: {
        done: { one: "# action deleted", other: "# actions deleted" },
        failed: { one: "Couldn't delete # action", other: "Couldn't delete # actions" },
      },
    }}
    deleting={{
      title: plural(chosen.length, { one: "Delete # action?", other: "Delete # actions?" }),
      about: (
        <p>
          {t("Automations that use them fail at those steps. Their runs are kept.")} {cantUndo()}
        </p>
      ),
    }}
  />
);
