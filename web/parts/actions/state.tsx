import { useState } from "react";
import { useApi, useChange, useMay } from "../../data.ts";
import { Button } from "../base/button.tsx";
import { Confirm } from "../base/dialog.tsx";
import { Section, Shown } from "../base/page.tsx";
import { Tree } from "../base/tree.tsx";

/** The cursors of an extract, and the way to begin anew. */
export function ActionState({ id }: { id: string }) {
  const may = useMay("member");
  const state = useApi("GET /api/v1/actions/{action_id}/state", { path: { action_id: id } });
  const reset = useChange("POST /api/v1/actions/{action_id}/state/reset", {
    touches: ["/state"],
    done: "Cursors reset",
  });
  const [asks, setAsks] = useState(false);
  return (
    <Section
      title="Cursors"
      aside={
        may && (
          <Button kind="quiet" onClick={() => setAsks(true)}>
            Reset
          </Button>
        )
      }
    >
      <Shown of={state}>
        {({ resources }) => <Tree value={resources} copyLabel="Copy cursors as JSON" />}
      </Shown>
      {asks && (
        <Confirm
          title="Reset cursors?"
          verb="Reset"
          isBusy={reset.isPending}
          onClose={() => setAsks(false)}
          onConfirm={() =>
            reset.mutate({ path: { action_id: id }, body: {} }, { onSettled: () => setAsks(false) })
          }
        >
          <p>
            The next run reads everything from the beginning. With append, existing rows are loaded again.
          </p>
        </Confirm>
      )}
    </Section>
  );
}
