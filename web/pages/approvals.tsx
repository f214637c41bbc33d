import { Check, Inbox, SearchX, X } from "lucide-react";
import { useId, useState } from "react";
import { Link } from "wouter";
import type { Approval, Decision, Schema } from "../calls.ts";
import { useApi, useChange, useMay } from "../data.ts";
import { Button } from "../parts/base/button.tsx";
import { TextField } from "../parts/base/labelled.tsx";
import { named } from "../parts/base/named.ts";
import { Empty, PageHead, Section, Shown, useTab } from "../parts/base/page.tsx";
import { Status } from "../parts/base/status.tsx";
import { counted, When } from "../parts/base/time.tsx";
import { Tree } from "../parts/base/tree.tsx";
import { Faults, SchemaForm, type Values } from "../parts/form/form.tsx";
import { faultsOf, messagesBy, Refusal } from "../parts/form/frame.tsx";
import { propertiesOf, startValue } from "../parts/form/schema.ts";
import { Choice } from "../parts/table/filters.tsx";
import { type Column, Named, Pager, Table, useFilters } from "../parts/table/table.tsx";

const LIMIT = 50;
/** So many questions are drawn at once. */
const AT_ONCE = 20;

const TABS = named<Approval["status"]>({ pending: "Pending", decided: "Decided" });

export default function Approvals() {
  const tabs = useTab(TABS);
  return (
    <>
      <PageHead title="Approvals" about="What runs ask people, and wait for." />
      {tabs.bar}
      {tabs.current === "decided" ? <Decided /> : <Pending />}
    </>
  );
}

function Pending() {
  const [shown, setShown] = useState(AT_ONCE);
  const approvals = useApi("GET /api/v1/approvals", { query: { status: "pending" } });
  return (
    <Shown of={approvals}>
      {({ items }) =>
        items.length === 0 ? (
          <div className="card">
            <Empty icon={Inbox} title="Nothing waits for a decision">
              Approval steps of automations ask here, and their runs go on once somebody has decided.
            </Empty>
          </div>
        ) : (
          <>
            {items.slice(0, shown).map((approval) => (
              <Question key={approval.id} approval={approval} />
            ))}
            {items.length > shown && (
              <Button onClick={() => setShown(shown + AT_ONCE)}>{counted(items.length - shown)} more</Button>
            )}
          </>
        )
      }
    </Shown>
  );
}

/** Where a schema has no fields to draw, the whole answer is written as JSON. */
const AS_JSON: Schema = { properties: { formResponse: { title: "Answer" } } };

function Question({ approval }: { approval: Approval }) {
  const { id, title, description, formSchema, context, automationRunId, automationName } = approval;
  const may = useMay("member");
  const [answer, setAnswer] = useState<Values>(() => startValue(formSchema ?? {}));
  const [reason, setReason] = useState("");
  const decided = {
    touches: ["/approvals", "/decisions", "/action-runs", "/automation-runs"] as const,
    tellsErrors: false,
  };
  const approve = useChange("POST /api/v1/approvals/{approval_id}/approve", {
    ...decided,
    done: `Approved: ${title}`,
  });
  const reject = useChange("POST /api/v1/approvals/{approval_id}/reject", {
    ...decided,
    done: `Rejected: ${title}`,
  });
  const error = approve.error ?? reject.error;
  const isBusy = approve.isPending || reject.isPending;
  const path = { approval_id: id };
  const form = useId();
  const isFilled = approval.decisionType === "form_input" || Object.keys(answer).length > 0;
  return (
    <Section
      title={
        <span dir="auto" className="[overflow-wrap:anywhere]">
          {title}
        </span>
      }
      aside={
        <>
          {automationRunId && (
            <Link href={`/automation-runs/${automationRunId}`} className="text-accent hover:underline">
              {automationName ?? "Its automation"}
            </Link>
          )}
          <When at={approval.requestedAt} />
        </>
      }
    >
      <form
        id={form}
        className="space-y-4"
        onSubmit={(event) => {
          event.preventDefault();
          reject.reset();
          approve.mutate({
            path,
            body: formSchema && isFilled ? { formResponse: answer as never } : {},
          });
        }}
      >
        <Refusal error={error} />
        <Faults
          of={faultsOf(error)}
          drawn={[
            ["body", "formResponse"],
            ["body", "rejectionReason"],
          ]}
        />
        {description && (
          <p className="text-sm whitespace-pre-wrap [overflow-wrap:anywhere]" dir="auto">
            {description}
          </p>
        )}
        {context && <Tree value={context} label="what is known" />}
        {may &&
          formSchema &&
          (propertiesOf(formSchema).length > 0 ? (
            <SchemaForm
              schema={formSchema}
              value={answer}
              onChange={setAnswer}
              at={["body", "formResponse"]}
              faults={faultsOf(error)}
            />
          ) : (
            <SchemaForm
              schema={AS_JSON}
              value={{ formResponse: answer }}
              onChange={({ formResponse }) => setAnswer((formResponse ?? {}) as Values)}
              at={["body"]}
              faults={faultsOf(error)}
            />
          ))}
      </form>
      {may && (
        <div className="mt-4 flex flex-wrap items-end justify-between gap-3 border-t border-line pt-4">
          <Button
            form={form}
            type="submit"
            kind="main"
            icon={Check}
            busy={approve.isPending}
            disabled={isBusy}
          >
            Approve
          </Button>
          <form
            className="flex grow flex-wrap items-end gap-2 sm:max-w-md"
            onSubmit={(event) => {
              event.preventDefault();
              approve.reset();
              reject.mutate({ path, body: { rejectionReason: reason || null } });
            }}
          >
            <div className="grow basis-48">
              <TextField
                label="Reason, if it is rejected"
                value={reason}
                onChange={setReason}
                fault={messagesBy(error)("rejectionReason")}
                maxLength={4096}
              />
            </div>
            <Button type="submit" kind="bad" icon={X} busy={reject.isPending} disabled={isBusy}>
              Reject
            </Button>
          </form>
        </div>
      )}
    </Section>
  );
}

/** Ways in which a question ends. */
const ENDS = named<Exclude<Decision["status"], "pending">>({
  decided: "Decided",
  expired: "Expired",
  cancelled: "Cancelled",
});

function Decided() {
  const filters = useFilters();
  const end = ENDS.find(([id]) => id === filters.get("end"))?.[0] ?? "decided";
  const people = useApi("GET /api/v1/organizations/members", {}, { isFixed: true });
  const nameOf = (id: string | null) => {
    const person = people.data?.items.find((each) => each.id === id);
    return person ? [person.firstName, person.lastName].filter(Boolean).join(" ") || person.email : "–";
  };
  const columns: readonly Column<Decision>[] = [
    {
      name: "Question",
      isWide: true,
      cell: ({ title, rejectionReason, description }) => (
        <Named name={title} below={rejectionReason ?? description} />
      ),
    },
    {
      name: "Outcome",
      cell: ({ status, decisionValue }) => <Status status={decisionValue ?? status} />,
    },
    { name: "By", isMinor: true, cell: ({ decidedBy }) => nameOf(decidedBy) },
    {
      name: "When",
      isRight: true,
      isMinor: true,
      cell: ({ decidedAt, updatedAt }) => <When at={decidedAt ?? updatedAt} />,
    },
  ];
  const decisions = useApi(
    "GET /api/v1/decisions",
    { query: { status: end, limit: LIMIT, offset: filters.offset } },
    { keep: true },
  );
  return (
    <div className="card">
      <search className="flex border-b border-line px-3 py-2">
        <Choice
          label="Outcome"
          value={filters.get("end")}
          options={ENDS}
          onChange={(value) => filters.set("end", value)}
        />
      </search>
      <Shown of={decisions}>
        {(page) =>
          page.decisions.length === 0 ? (
            <Empty icon={SearchX} title="There is none" />
          ) : (
            <>
              <Table
                label="Decisions"
                columns={columns}
                rows={page.decisions}
                keyOf={({ id }) => id}
                hrefOf={({ subjectId }) => `/runs/${subjectId}`}
              />
              <Pager {...page} shown={page.decisions.length} />
            </>
          )
        }
      </Shown>
    </div>
  );
}
