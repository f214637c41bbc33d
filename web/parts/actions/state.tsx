import { useState } from "react";
import { useApi, useChange, useMay } from "../../data.ts";
import { t } from "../../texts/text.ts";
import { Button } from "../base/button.tsx";
import { Confirm } from "../base/dialog.tsx";
import { Section, Shown } from "../base/page.tsx";
import { Tree } from "../base/tree.tsx";

/** The cursors of an extract, and a button that resets them. */
export function ActionState({ id }: { id: string }) {
  const may = useMay("member");
  const state = useApi("GET /api/v1/actions/{action_id}/state", { path: { action_id: id } });
  const reset = useChange("POST /api/v1/actions/{action_id}/state/reset", {
    touches: ["/state"],
    done: t("Cursors reset"),
  });
  const [asks, setAsks] = useState(false);
  return (
    <Section
      title={t("Cursors")}
      aside={
        may && (
          <Button kind="quiet" onClick={() => setAsks(true)}>
            {t("Reset")}
          </Button>
        )
      }
    >
      <Shown of={state}>
        {({ resources }) => <Tree value={resources} copyLabel={t("Copy cursors as JSON")} />}
      </Shown>
      {asks && (
        <Confirm
          title={t("Reset cursors?")}
          verb={t("Reset")}
          isBusy={reset.isPending}
          onClose={() => setAsks(false)}
          onConfirm={() =>
            reset.mutate({ path: { action_id: id }, body: {} }, { onSettled: () => setAsks(false) })
          }
        >
          <p>
            {t(
              "The next run reads everything from the beginning. With append, existing rows are loaded again.",
            )}
          </p>
        </Confirm>
      )}
    </Section>
  );
}
