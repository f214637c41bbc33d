import { LayoutDashboard, Mail, Pencil, RefreshCw, Share2, SquareTerminal, Trash2 } from "lucide-react";
import { useState } from "react";
import { Link, useLocation } from "wouter";
import type { Dashboard } from "../calls.ts";
import { useApi, useChange, useMay } from "../data.ts";
import { Button, IconButton, LinkButton } from "../parts/base/button.tsx";
import { Confirm } from "../parts/base/dialog.tsx";
import { Later, part } from "../parts/base/later.tsx";
import { Empty, Failed, Loading, PageHead } from "../parts/base/page.tsx";
import { Tag } from "../parts/base/status.tsx";
import { inWords } from "../parts/base/time.tsx";
import { workbenchPath } from "../parts/dashboards/drill.tsx";
import { FilteredBoard } from "../parts/dashboards/filtered-board.tsx";
import { FilterFields } from "../parts/dashboards/filters.tsx";
import { pathOf, useDashboard } from "../parts/dashboards/found.ts";
import { FullScreenButton } from "../parts/dashboards/full-screen.tsx";
import { ShareDialog } from "../parts/dashboards/share.tsx";
import { useValues } from "../parts/dashboards/values.ts";
import { t } from "../texts/text.ts";
import ArtifactPage from "./artifact.tsx";

/** A dashboard by its slug or ID, or one that a run created by its artifact's ID. */
export default function DashboardPage({ id }: { id: string }) {
  const { dashboard, isMissing, error, again } = useDashboard(id);
  if (dashboard) return <Whole dashboard={dashboard} />;
  if (isMissing) return <ArtifactPage id={id} />;
  return error ? <Failed error={error} again={again} isPage /> : <Loading />;
}

function Whole({ dashboard }: { dashboard: Dashboard }) {
  const { id: dashboard_id, name, description, filters, panels, refreshSeconds } = dashboard;
  const values = useValues(filters);
  const data = useApi(
    "GET /api/v1/dashboards/{dashboard_id}/data",
    { path: { dashboard_id }, query: { ...values.given } } as never,
    { keep: true, ...(refreshSeconds ? { refetchMs: refreshSeconds * 1000 } : {}) },
  );
  return (
    <>
      <PageHead
        title={name}
        from={[["/dashboards", t("Dashboards")]]}
        beside={dashboard.sharing === "link" && <Tag>{t("Shared by link")}</Tag>}
        about={
          <>
            {description}
            {refreshSeconds !== null && (
              <span className="block text-xs">
                {t("Refreshes every {refreshSeconds}", { refreshSeconds: inWords(refreshSeconds) })}
              </span>
            )}
          </>
        }
      >
        <Actions dashboard={dashboard} filterValues={values.given} />
        <Button icon={RefreshCw} busy={data.isFetching} onClick={() => void data.refetch()}>
          {t("Refresh")}
        </Button>
      </PageHead>
      <FilterFields filters={filters} values={values} data={data.data} />
      {data.error && <Failed error={data.error} again={() => void data.refetch()} />}
      {panels.length === 0 ? (
        <NoPanels id={dashboard_id} />
      ) : (
        !data.error && (
          <FilteredBoard
            panels={panels}
            filters={filters}
            values={values}
            data={data.data}
            hrefOf={(panel, cells) => workbenchPath(panel, data.data, cells)}
            actionsOf={(panel) => (
              <Link
                href={workbenchPath(panel, data.data)}
                aria-label={t("Open SQL of {title}", { title: panel.title })}
                title={t("Open SQL")}
                className="inline-flex size-7 items-center justify-center rounded-md text-soft hover:bg-sunken hover:text-ink"
              >
                <SquareTerminal size={15} aria-hidden />
              </Link>
            )}
          />
        )
      )}
    </>
  );
}

function NoPanels({ id }: { id: string }) {
  const may = useMay("member");
  return (
    <div className="card">
      <Empty
        icon={LayoutDashboard}
        title={t("No panels yet")}
        action={
          may && (
            <LinkButton href={`/dashboards/${id}/edit`} kind="main">
              {t("Add panel")}
            </LinkButton>
          )
        }
      >
        {t("Each panel shows the result of an SQL query.")}
      </Empty>
    </div>
  );
}

const email = part(() => import("../parts/dashboards/email.tsx"));

interface ActionsProps {
  dashboard: Dashboard;
  /** Filters in the URL. */
  filterValues: Record<string, string>;
}

function Actions({ dashboard, filterValues }: ActionsProps) {
  const may = useMay("member");
  const [opened, setOpened] = useState<"share" | "email" | "remove" | null>(null);
  const [, go] = useLocation();
  const close = () => setOpened(null);
  const remove = useChange("DELETE /api/v1/dashboards/{dashboard_id}", {
    touches: ["/dashboards"],
    done: t("Dashboard deleted"),
    onDone: () => go("/dashboards"),
  });
  return (
    <>
      <FullScreenButton />
      {may && (
        <span className="contents in-[:fullscreen]:hidden">
          <IconButton icon={Trash2} label={t("Delete dashboard")} onClick={() => setOpened("remove")} />
          <Button icon={Mail} onClick={() => setOpened("email")}>
            {t("Email")}
          </Button>
          <Button icon={Share2} onClick={() => setOpened("share")}>
            {t("Share")}
          </Button>
          <LinkButton icon={Pencil} href={`${pathOf(dashboard)}/edit`}>
            {t("Edit")}
          </LinkButton>
        </span>
      )}
      {opened === "email" && (
        <Later of={email} props={{ dashboard, filters: filterValues, onClose: close }} waiting={null} />
      )}
      {opened === "share" && <ShareDialog dashboard={dashboard} onClose={close} />}
      {opened === "remove" && (
        <Confirm
          title={t("Delete {name}?", { name: dashboard.name })}
          verb={t("Delete")}
          isBusy={remove.isPending}
          onConfirm={() => remove.mutate({ path: { dashboard_id: dashboard.id } }, { onSettled: close })}
          onClose={close}
        >
          <p>
            {t(
              "This permanently deletes the dashboard and its link. Datasets and saved queries are kept. This can't be undone.",
            )}
          </p>
        </Confirm>
      )}
    </>
  );
}
