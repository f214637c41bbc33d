import { RefreshCw } from "lucide-react";
import { useApi } from "../../data.ts";
import { t } from "../../texts/text.ts";
import { Button } from "../base/button.tsx";
import { Failed, Loading, PageHead } from "../base/page.tsx";
import { FilteredBoard } from "./filtered-board.tsx";
import { FilterFields } from "./filters.tsx";
import { FullScreenButton } from "./full-screen.tsx";
import { useValues } from "./values.ts";

/** A dashboard by its link, for anyone who has it. Nothing on the page needs a sign-in. */
export default function SharedDashboardPage({ token }: { token: string }) {
  const board = useApi("GET /api/v1/shared-dashboards/{token}", { path: { token } });
  const values = useValues(board.data?.filters ?? []);
  const { refreshSeconds } = board.data ?? {};
  const data = useApi(
    "GET /api/v1/shared-dashboards/{token}/data",
    { path: { token }, query: { ...values.given } },
    {
      enabled: board.data !== undefined,
      keep: true,
      ...(refreshSeconds ? { refetchMs: refreshSeconds * 1000 } : {}),
    },
  );
  const error = board.error ?? data.error;
  if (error)
    return (
      <main className="mx-auto w-full max-w-2xl p-4 sm:p-8">
        <Failed error={error} again={() => void Promise.all([board.refetch(), data.refetch()])} />
      </main>
    );
  if (!board.data) return <Loading />;
  const { name, description, panels, filters } = board.data;
  return (
    <main className="mx-auto w-full max-w-7xl p-4 sm:p-8">
      <PageHead title={name} about={description ?? undefined}>
        <FullScreenButton />
        <Button icon={RefreshCw} busy={data.isFetching} onClick={() => void data.refetch()}>
          {t("Refresh")}
        </Button>
      </PageHead>
      <FilterFields filters={filters} values={values} data={data.data} />
      <FilteredBoard panels={panels} filters={filters} values={values} data={data.data} />
    </main>
  );
}
