import { SearchX } from "lucide-react";
import type { Approval, Decision } from "../calls.ts";
import { useApi } from "../data.ts";
import { Inbox } from "../parts/approvals/inbox.tsx";
import { named } from "../parts/base/named.ts";
import { Empty, PageHead, Shown, useTab } from "../parts/base/page.tsx";
import { Status } from "../parts/base/status.tsx";
import { When } from "../parts/base/time.tsx";
import { Choice } from "../parts/table/filters.tsx";
import { type Column, Named, Pager, Table, useFilters } from "../parts/table/table.tsx";
import { t } from "../texts/text.ts";

const LIMIT = 50;

const TABS = named<Approval["status"]>({ pending: t("Pending"), decided: t("Decided") });

export default function Approvals() {
  const tabs = useTab(TABS);
  return (
    <>
      <PageHead title={t("Approvals")} about={t("Runs that are waiting for a decision.")} />
      {tabs.bar}
      {tabs.current === "decided" ? <Decided /> : <Inbox />}
    </>
  );
}

/** Outcomes of an approval. */
const ENDS = named<Exclude<Decision["status"], "pending">>({
  decided: t("Decided"),
  expired: t("Expired"),
  cancelled: t("Cancelled"),
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
      name: t("Approval"),
      isWide: true,
      cell: ({ title, rejectionReason, description }) => (
        <Named name={title} below={rejectionReason ?? description} />
      ),
    },
    {
      name: t("Outcome"),
      cell: ({ status, decisionValue }) => <Status status={decisionValue ?? status} />,
    },
    {
      name: t("By"),
      isMinor: true,
      cell: ({ decidedBy }) => <span className="whitespace-nowrap">{nameOf(decidedBy)}</span>,
    },
    {
      name: t("Decided"),
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
          label={t("Outcome")}
          value={filters.get("end")}
          options={ENDS}
          onChange={(value) => filters.set("end", value)}
        />
      </search>
      <Shown of={decisions}>
        {(page) =>
          page.decisions.length === 0 ? (
            <Empty icon={SearchX} title={t("No decisions match this filter")} />
          ) : (
            <>
              <Table
                label={t("Decisions")}
                columns={columns}
                rows={page.decisions}
                keyOf={({ id }) => id}
                hrefOf={({ id }) => `/approvals/${id}`}
              />
              <Pager {...page} shown={page.decisions.length} />
            </>
          )
        }
      </Shown>
    </div>
  );
}
