import { useLocation } from "wouter";
import type { Action } from "../../calls.ts";
import { useApi, useChange } from "../../data.ts";
import { Confirm } from "../base/dialog.tsx";
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
      about="Runs with its definition as it is saved. What you write here is merged over it, for this run only; null takes a field away."
      label="Overrides"
      run={run}
      onRun={(overrides = null) =>
        run.mutate({ path: { action_id: action.id }, body: { definitionOverrides: overrides as never } })
      }
      onClose={onClose}
    >
      <details className="mt-4">
        <summary className="text-soft">The definition</summary>
        <div className="mt-2">
          <Tree value={action.definition} label="the definition" />
        </div>
      </details>
    </RunDialog>
  );
}

/** Asks before an action goes. */
export function DeleteAction({ action, onClose }: Props) {
  const [, go] = useLocation();
  const runs = useApi("GET /api/v1/action-runs", { query: { action_id: action.id, limit: 1 } });
  const automations = useApi("GET /api/v1/automations", { query: { limit: 100 } });
  const users = (automations.data?.automations ?? []).filter(({ config }) =>
    JSON.stringify(config).includes(action.id),
  );
  const remove = useChange("DELETE /api/v1/actions/{action_id}", {
    touches: ["/actions"],
    done: `Deleted ${action.name}`,
    onDone: () => go("/actions"),
  });
  return (
    <Confirm
      title={`Delete ${action.name}?`}
      verb="Delete"
      isBusy={remove.isPending}
      onClose={onClose}
      onConfirm={() => remove.mutate({ path: { action_id: action.id } }, { onError: onClose })}
    >
      <p>
        {runs.data && runs.data.total > 0
          ? `Its ${runs.data.total} runs stay readable. The action itself can't be had back.`
          : "It can't be had back."}
      </p>
      {users.length > 0 && (
        <div>
          <p>These automations use it:</p>
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
