import { ListChecks, Pencil } from "lucide-react";
import type { Automation, AutomationRun } from "../calls.ts";
import { useApi, useChange, useMay } from "../data.ts";
import { runCanvas, useCanvasEarly } from "../parts/automation-editor/canvas-early.ts";
import { DeleteAutomation, RunAutomation } from "../parts/automations/dialogs.tsx";
import { DuplicateAutomation } from "../parts/automations/duplicate.tsx";
import { EditAutomation } from "../parts/automations/edit.tsx";
import { ExportAutomations } from "../parts/automations/export-button.tsx";
import { Notices } from "../parts/automations/notices.tsx";
import { Tester } from "../parts/automations/tester.tsx";
import { LinkButton } from "../parts/base/button.tsx";
import { CopyButton } from "../parts/base/copy.tsx";
import { Later } from "../parts/base/later.tsx";
import { Empty, Section, Shown } from "../parts/base/page.tsx";
import { Status } from "../parts/base/status.tsx";
import { inWords, When } from "../parts/base/time.tsx";
import { Detail, Held, SwitchAndRun } from "../parts/layout/detail.tsx";
import { triggerName } from "../parts/runs/filters.tsx";
import { stepsInWords } from "../parts/runs/step-counts.ts";
import { type Column, Pager, Table, useFilters } from "../parts/table/table.tsx";
import { TagChips } from "../parts/table/tags.tsx";
import { t } from "../texts/text.ts";
import { TRIGGERS } from "./automations.tsx";

const LIMIT = 25;

export default function AutomationPage({ id }: { id: string }) {
  const automation = useApi("GET /api/v1/automations/{automation_id}", { path: { automation_id: id } });
  return (
    <Shown of={automation} isPage>
      {(data) => <Whole automation={data} />}
    </Shown>
  );
}

function Whole({ automation }: { automation: Automation }) {
  const may = useMay("member");
  const isOff = automation.status === "disabled";
  const patch = useChange("PATCH /api/v1/automations/{automation_id}", {
    touches: ["/automations"],
    done: isOff ? t("Automation enabled") : t("Automation disabled"),
  });
  return (
    <Detail
      deleteLabel={t("Delete automation")}
      from={["/automations", t("Automations")]}
      of={automation}
      about={automation.description && <p dir="auto">{automation.description}</p>}
      what={TRIGGERS.find(([id]) => id === automation.triggerType)?.[1]}
      known={
        (automation.nextRunAt || automation.tags.length > 0) && (
          <span className="flex flex-wrap items-center gap-x-3">
            {automation.nextRunAt && (
              <span>
                {t("Next run")} <When at={automation.nextRunAt} />
              </span>
            )}
            <TagChips tags={automation.tags} />
          </span>
        )
      }
      actions={
        <>
          <DuplicateAutomation automation={automation} />
          <ExportAutomations of={[automation]} />
          <LinkButton icon={Pencil} href={`/automations/${automation.id}/edit`}>
            {t("Edit")}
          </LinkButton>
          <SwitchAndRun
            isOff={isOff}
            isBusy={patch.isPending}
            onSwitch={(status) => patch.mutate({ path: { automation_id: automation.id }, body: { status } })}
            dialog={(onClose) => <RunAutomation automation={automation} onClose={onClose} />}
          />
        </>
      }
      remove={(onClose) => <DeleteAutomation automation={automation} onClose={onClose} />}
      tabs={[
        ["runs", t("Steps and runs"), () => <Runs automation={automation} />],
        [
          "form",
          t("Form"),
          automation.formUrl !== null && (() => <FormAddress url={automation.formUrl ?? ""} />),
        ],
        [
          "webhook",
          t("Webhook"),
          automation.webhookUrl !== null && (() => <Tester automation={automation} />),
        ],
        [
          "notices",
          t("Notices"),
          may && automation.config.alerts !== undefined && (() => <Notices automation={automation} />),
        ],
        [
          "edit",
          t("Settings"),
          () => (
            <Held of={automation}>
              {(base, onDirty) => <EditAutomation automation={base} mayChange={may} onDirty={onDirty} />}
            </Held>
          ),
        ],
      ]}
    />
  );
}

function FormAddress({ url }: { url: string }) {
  return (
    <Section title={t("Form")}>
      <div className="flex flex-wrap items-center gap-3">
        <a className="link [overflow-wrap:anywhere]" href={url} target="_blank" rel="noreferrer">
          {url}
        </a>
        <CopyButton text={url} />
      </div>
    </Section>
  );
}

const tookOf = ({ startedAt, completedAt }: AutomationRun) =>
  startedAt && completedAt ? inWords((Date.parse(completedAt) - Date.parse(startedAt)) / 1000) : "–";

const COLUMNS: readonly Column<AutomationRun>[] = [
  { name: t("Run"), cell: ({ id }) => <code className="font-mono text-xs">{id.slice(-12)}</code> },
  {
    name: t("Status"),
    cell: ({ status, displayStatus }) => <Status status={status} label={displayStatus} isShort />,
  },
  {
    name: t("Steps"),
    isMinor: true,
    isWide: true,
    cell: ({ steps, error }) => (
      <span className="block truncate text-soft">
        {(error as { message?: string } | null)?.message ?? stepsInWords(steps)}
      </span>
    ),
  },
  {
    name: t("Trigger"),
    isMinor: true,
    cell: ({ triggerMethod }) => <span className="text-soft">{triggerName(triggerMethod)}</span>,
  },
  { name: t("Duration"), isRight: true, isMinor: true, cell: tookOf },
  { name: t("Created"), isRight: true, cell: ({ createdAt }) => <When at={createdAt} /> },
];

function Runs({ automation }: { automation: Automation }) {
  const filters = useFilters();
  const path = { automation_id: automation.id };
  const runs = useApi(
    "GET /api/v1/automations/{automation_id}/runs",
    { path, query: { limit: LIMIT, offset: filters.offset } },
    { keep: true },
  );
  useCanvasEarly(automation.id);
  const latest = filters.offset === 0 ? (runs.data?.runs[0] ?? null) : null;
  return (
    <>
      <Section title={t("Steps")} flush aside={latest && <span>{t("Status of the latest run")}</span>}>
        <Later of={runCanvas} props={{ automation, run: latest }} />
      </Section>
      <Section title={t("Runs")} flush>
        <Shown of={runs}>
          {(page) =>
            page.runs.length === 0 ? (
              <Empty icon={ListChecks} title={t("No runs yet")}>
                {automation.webhookUrl
                  ? t("Send a test from the Webhook tab, or select Run.")
                  : t("Select Run to start one.")}
              </Empty>
            ) : (
              <>
                <Table
                  label={t("Runs")}
                  columns={COLUMNS}
                  rows={page.runs}
                  keyOf={({ id }) => id}
                  hrefOf={({ id }) => `/automation-runs/${id}`}
                />
                <Pager {...page} shown={page.runs.length} />
              </>
            )
          }
        </Shown>
      </Section>
    </>
  );
}
