import { useLocation } from "wouter";
import type { Action } from "../../calls.ts";
import { useApi, useChange } from "../../data.ts";
import { t } from "../../texts/text.ts";
import { Confirm } from "../base/dialog.tsx";
import { plural } from "../base/plural.ts";
import { cantUndo } from "../base/texts.ts";
import { Tree } from "../base/tree.tsx";
import { RunDialog } from "../layout/detail.tsx";

interface Props {
  action: Action;
  onClose: () => void;
}

/** Asks for overrides, and runs. */
export function RunAction({ action, onClose }: Props) {
  const [, go] = useLocation();
  const run = useChange("POST /api/v1/actions/{action_id}/run", {
    touches: ["/action-runs", "/actions"],
    tellsErrors: false,
    onDone: ({ id }) => go(`/runs/${id}`),
  });
  return (
    <RunDialog
      name={action.name}
      about={t(
        "Uses the saved definition. Overrides apply to this run only. Set a field to null to remove it.",
      )}
      label={t("Overrides")}
      run={run}
      onRun={(overrides = null) =>
        run.mutate({ path: { action_id: action.id }, body: { definitionOverrides: overrides as never } })
      }
      onClose={onClose}
    >
      <details className="mt-4">
        <summary className="text-soft">{t("Definition")}</summary>
        <div className="mt-2">
          <Tree value={action.definition} copyLabel={t("Copy definition as JSON")} />
        </div>
      </details>
    </RunDialog>
  );
}

/** Confirms deleting an action. */
export function DeleteAction({ action, onClose }: Props) {
  const [, go] = useLocation();
  const runs = useApi("GET /api/v1/action-runs", { query: { action_id: action.id, limit: 1 } });
  const automations = useApi("GET /api/v1/automations", { query: { action_id: action.id, limit: 100 } });
  const users = automations.data?.automations ?? [];
  const remove = useChange("DELETE /api/v1/actions/{action_id}", {
    touches: ["/actions"],
    done: t("{name} deleted", { name: action.name }),
    onDone: () => go("/actions"),
  });
  return (
    <Confirm
      title={t("Delete {name}?", { name: action.name })}
      verb={t("Delete")}
      isBusy={remove.isPending || automations.isPending}
      onClose={onClose}
      onConfirm={() => remove.mutate({ path: { action_id: action.id } }, { onError: onClose })}
    >
      <p>
        {runs.data && runs.data.total > 0
          ? plural(runs.data.total, { one: "Its # run is kept.", other: "Its # runs are kept." })
          : null}{" "}
        {cantUndo()}
      </p>
      {users.length > 0 && (
        <div>
          <p>{t("These automations use this action:")}</p>
          <ul className="mt-1 list-disc pl-5">
            {users.map(({ id, name }) => (
              <li key={id}>{name}</li>
            ))}
          </ul>
        </div>
      )}
    </Confirm>
  );
}
