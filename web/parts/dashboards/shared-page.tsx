import type { Reply } from "../../calls.ts";
import { useApi } from "../../data.ts";
import { Failed, Loading, PageHead, Section } from "../base/page.tsx";
import { Grid } from "../table/grid.tsx";

type PanelData = Reply<"GET /api/v1/shared-dashboards/{token}/data">["panels"][string];

/** A dashboard by its link: for anybody who has it, so that nothing around it needs a sign-in. */
export function SharedDashboardPage({ token }: { token: string }) {
  const input = { path: { token }, query: Object.fromEntries(new URLSearchParams(location.search)) };
  const board = useApi("GET /api/v1/shared-dashboards/{token}", { path: { token } });
  const data = useApi("GET /api/v1/shared-dashboards/{token}/data", input);
  const error = board.error ?? data.error;
  if (error)
    return (
      <main className="mx-auto w-full max-w-2xl p-4 sm:p-8">
        <Failed error={error} again={() => void Promise.all([board.refetch(), data.refetch()])} />
      </main>
    );
  if (!board.data) return <Loading />;
  const { name, description, panels } = board.data;
  return (
    <main className="mx-auto w-full max-w-7xl p-4 sm:p-8">
      <PageHead title={name} about={description ?? undefined} />
      {panels.map(({ key, title }) => (
        <Section key={key} title={title} flush={data.data?.panels[key]?.error === null}>
          <PanelRows title={title} data={data.data?.panels[key]} />
        </Section>
      ))}
    </main>
  );
}

function PanelRows({ title, data }: { title: string; data: PanelData | undefined }) {
  if (!data) return <Loading />;
  if (data.error) return <p className="text-sm text-soft">{data.error.message}</p>;
  const rows = data.rows.map((row) =>
    Object.fromEntries(data.columns.map(({ name }, at) => [name, row[at] ?? null])),
  );
  return <Grid label={`Rows of ${title}`} columns={data.columns} rows={rows} height={320} />;
}
