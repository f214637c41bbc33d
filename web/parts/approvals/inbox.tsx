import { Inbox as InboxIcon } from "lucide-react";
import { useEffect, useRef, useState } from "react";
import { Link } from "wouter";
import { base } from "../../base.ts";
import type { Approval, Reply } from "../../calls.ts";
import { useApi, useMay, useMe } from "../../data.ts";
import { t } from "../../texts/text.ts";
import { Button } from "../base/button.tsx";
import { CopyButton } from "../base/copy.tsx";
import { Empty, Shown } from "../base/page.tsx";
import { plural } from "../base/plural.ts";
import { When } from "../base/time.tsx";
import { BulkDecisions } from "./bulk.tsx";
import { ApprovalContext } from "./context.tsx";
import { useInboxKeys } from "./inbox-keys.ts";
import { Question } from "./question.tsx";

/** Pending approvals: a list, with the selected one next to it. */
export function Inbox() {
  const approvals = useApi("GET /api/v1/approvals", { query: { status: "pending" } });
  return (
    <Shown of={approvals}>
      {(page) =>
        page.items.length === 0 ? (
          <div className="card">
            <Empty icon={InboxIcon} title={t("No pending approvals")}>
              {t("When a run reaches an approval step, it waits here until someone approves or rejects it.")}
            </Empty>
          </div>
        ) : (
          <Pending page={page} />
        )
      }
    </Shown>
  );
}

/** Right after another approval replaced the selected one, a key may still be meant for the previous one. */
const MEANT_MS = 700;

/** The selected approval. Once it is decided, here or by someone else, the next one is selected. */
function useCurrent(items: readonly Approval[]) {
  const [id, setId] = useState<string | null>(items[0]?.id ?? null);
  const last = useRef(0);
  const replacedAt = useRef(Number.NEGATIVE_INFINITY);
  const found = items.findIndex((item) => item.id === id);
  const at = found >= 0 ? found : Math.min(last.current, items.length - 1);
  last.current = at;
  const current = items[at];
  useEffect(() => {
    if (!current || current.id === id) return;
    replacedAt.current = performance.now();
    setId(current.id);
  }, [current, id]);
  const moveTo = (to: number) => setId(items[Math.min(Math.max(to, 0), items.length - 1)]?.id ?? null);
  return {
    at,
    current,
    choose: setId,
    move: (by: number) => moveTo(at + by),
    isSettled: () => performance.now() - replacedAt.current > MEANT_MS,
  };
}

/** Approves the selected request, or opens its form. */
function approveAtHand() {
  const field = document.querySelector<HTMLElement>(
    "[data-question] [data-answer] :is(input, textarea, select)",
  );
  if (field) field.focus();
  else document.querySelector<HTMLElement>("[data-question] [data-approve]")?.click();
}

const toReason = () => document.querySelector<HTMLElement>("[data-question] [data-reason] input")?.focus();

function Pending({ page: { items, total } }: { page: Reply<"GET /api/v1/approvals"> }) {
  const may = useMay("member");
  const { at, current, choose, move, isSettled } = useCurrent(items);
  const [ids, setIds] = useState<ReadonlySet<string>>(new Set());
  const toggle = (id: string) => {
    const next = new Set(ids);
    if (!next.delete(id)) next.add(id);
    setIds(next);
  };
  useInboxKeys({
    j: () => move(1),
    k: () => move(-1),
    ...(may && current
      ? { a: () => isSettled() && approveAtHand(), r: toReason, x: () => toggle(current.id) }
      : {}),
  });
  const chosen = items.filter(({ id }) => ids.has(id));
  const clear = () => setIds(new Set());
  return (
    <>
      {may && chosen.length > 0 && <BulkDecisions chosen={chosen} onClear={clear} />}
      {may && chosen.length === 0 && items.length > 1 && (
        <div className="mb-3">
          <Button onClick={() => setIds(new Set(items.map(({ id }) => id)))}>{t("Select all")}</Button>
        </div>
      )}
      <div className="grid items-start gap-x-5 grid-cols-[minmax(0,1fr)] lg:grid-cols-[19rem_minmax(0,1fr)]">
        <div className="card mb-5">
          <ul aria-label={t("Pending approvals")} className="max-h-56 overflow-y-auto lg:max-h-[70vh]">
            {items.map((item, index) => (
              <Item
                key={item.id}
                of={item}
                isCurrent={index === at}
                onOpen={() => choose(item.id)}
                {...(may ? { isChosen: ids.has(item.id), onChoose: () => toggle(item.id) } : {})}
              />
            ))}
          </ul>
          <p className="border-t border-line px-3 py-1.5 text-xs text-soft">
            {total > items.length
              ? t("Newest {count} of {total}", {
                  count: items.length,
                  total: plural(total, { one: "# approval", other: "# approvals" }),
                })
              : plural(total, { one: "# approval", other: "# approvals" })}
          </p>
        </div>
        {current && <AtHand key={current.id} of={current} />}
      </div>
    </>
  );
}

interface ItemProps {
  of: Approval;
  isCurrent: boolean;
  onOpen: () => void;
  isChosen?: boolean;
  onChoose?: () => void;
}

function Item({
  of: { title, automationName, requestedAt },
  isCurrent,
  onOpen,
  isChosen,
  onChoose,
}: ItemProps) {
  const row = useRef<HTMLLIElement>(null);
  useEffect(() => {
    if (isCurrent) row.current?.scrollIntoView({ block: "nearest" });
  }, [isCurrent]);
  return (
    <li
      ref={row}
      className={`flex items-center border-t border-line first:border-t-0 ${isCurrent ? "bg-accent-soft" : ""}`}
    >
      {onChoose && (
        <input
          type="checkbox"
          className="mr-1 ml-3 block size-4 shrink-0 accent-accent"
          aria-label={t("Select {title}", { title })}
          checked={isChosen ?? false}
          onChange={onChoose}
        />
      )}
      <button
        type="button"
        aria-current={isCurrent ? "true" : undefined}
        onClick={onOpen}
        className="min-w-0 grow px-3 py-2 text-left text-sm hover:bg-sunken/60"
      >
        <span className="block truncate font-medium" dir="auto">
          {title}
        </span>
        <span className="flex justify-between gap-2 text-xs text-soft">
          <span className="truncate" dir="auto">
            {automationName ?? t("Action")}
          </span>
          <When at={requestedAt} />
        </span>
      </button>
    </li>
  );
}

/** The request, with a link that opens it for a colleague. */
function AtHand({ of }: { of: Approval }) {
  const { current } = useMe();
  const organization = current ? `?organization=${current.organization.id}` : "";
  return (
    <Question
      of={of}
      aside={
        <>
          {of.automationRunId && (
            <Link href={`/automation-runs/${of.automationRunId}`} className="text-accent hover:underline">
              {of.automationName ?? t("View automation")}
            </Link>
          )}
          <Link href={`/approvals/${of.id}`} className="text-accent hover:underline">
            {t("Open")}
          </Link>
          <CopyButton
            text={`${location.origin}${base}/approvals/${of.id}${organization}`}
            label={t("Copy link")}
          />
        </>
      }
    >
      <ApprovalContext of={of} />
    </Question>
  );
}
