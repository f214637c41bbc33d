import { Ban, ChevronDown, ClipboardCopy, RotateCcw, Terminal } from "lucide-react";
import { useLocation } from "wouter";
import { base } from "../../base.ts";
import type { Run } from "../../calls.ts";
import { useChange, useMay } from "../../data.ts";
import { t } from "../../texts/text.ts";
import { Button } from "../base/button.tsx";
import { copy } from "../base/copy.tsx";
import { Menu } from "../base/menu.tsx";
import { notify } from "../base/toast.tsx";

const quoted = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`;

/** The equivalent commands for a terminal. */
function commandsFor({ id, actionId }: Run) {
  const curl = (method: string, path: string, body?: object) =>
    [
      `curl${method === "GET" ? "" : ` -X ${method}`} ${quoted(location.origin + base + path)}`,
      '  -H "Authorization: Bearer $WEIR_TOKEN"',
      ...(body ? [`  -H 'Content-Type: application/json'`, `  -d ${quoted(JSON.stringify(body))}`] : []),
    ].join(" \\\n");
  return {
    read: { curl: curl("GET", `/api/v1/action-runs/${id}`), cli: `weir runs get ${id}` },
    again: actionId && {
      curl: curl("POST", `/api/v1/actions/${actionId}/run`),
      cli: `weir actions run ${actionId}`,
    },
    follow: `weir runs logs ${id} --follow`,
  };
}

/** Operations on a run. */
export function RunActions({ run, isOver }: { run: Run; isOver: boolean }) {
  const may = useMay("member");
  const [, go] = useLocation();
  const path = { path: { run_id: run.id } };
  const cancel = useChange("POST /api/v1/action-runs/{run_id}/cancel", {
    touches: ["/action-runs"],
    done: t("Cancelling run…"),
  });
  const retry = useChange("POST /api/v1/action-runs/{run_id}/retry", {
    touches: ["/action-runs"],
    done: t("New run started"),
    onDone: ({ id }) => go(`/runs/${id}`),
  });
  const { actionId } = run;
  const rerun = useChange("POST /api/v1/actions/{action_id}/run", {
    touches: ["/action-runs"],
    done: t("New run started"),
    onDone: ({ id }) => go(`/runs/${id}`),
  });
  const take = async (text: string) => {
    if (await copy(text)) notify(t("Command copied"));
  };
  const { read, again, follow } = commandsFor(run);
  return (
    <>
      <Menu
        label={t("Copy as command")}
        align="right"
        buttonClass="inline-flex h-8 items-center gap-1.5 rounded-md border border-strong-line bg-raised px-3 text-sm font-medium hover:bg-sunken"
        button={
          <>
            <ClipboardCopy size={15} aria-hidden /> {t("Copy")} <ChevronDown size={14} aria-hidden />
          </>
        }
        items={[
          { name: t("Get run (cURL)"), icon: ClipboardCopy, onPick: () => void take(read.curl) },
          { name: t("Get run (weir)"), icon: Terminal, onPick: () => void take(read.cli) },
          { name: t("Follow log (weir)"), icon: Terminal, onPick: () => void take(follow) },
          ...(again
            ? [
                "line" as const,
                { name: t("Run again (cURL)"), icon: ClipboardCopy, onPick: () => void take(again.curl) },
                { name: t("Run again (weir)"), icon: Terminal, onPick: () => void take(again.cli) },
              ]
            : []),
        ]}
      />
      {run.status === "completed" ? (
        actionId && (
          <Button
            icon={RotateCcw}
            disabled={!may}
            busy={rerun.isPending}
            onClick={() => rerun.mutate({ path: { action_id: actionId }, body: {} })}
          >
            {t("Run action")}
          </Button>
        )
      ) : isOver ? (
        <Button icon={RotateCcw} disabled={!may} busy={retry.isPending} onClick={() => retry.mutate(path)}>
          {t("Retry")}
        </Button>
      ) : (
        <Button
          kind="bad"
          icon={Ban}
          disabled={!may}
          busy={cancel.isPending}
          onClick={() => cancel.mutate(path)}
        >
          {" "}
          {t("Cancel run")}
        </Button>
      )}
    </>
  );
}
