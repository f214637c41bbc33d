import { useQuery } from "@tanstack/react-query";
import { CircleCheck, OctagonX, RefreshCw } from "lucide-react";
import { call } from "../../api.ts";
import { useApi } from "../../data.ts";
import { t } from "../../texts/text.ts";
import { Button } from "../base/button.tsx";
import { Facts, Section, Shown } from "../base/page.tsx";
import { Tag } from "../base/status.tsx";

/** Name and description of each check. */
const CHECKS: Readonly<Record<string, readonly [name: string, about: string]>> = {
  writes: [t("Database"), t("A test write was committed.")],
  scheduler: [t("Scheduler"), t("Schedules and retries are started.")],
  disk: [t("Disk"), t("The data directory has free space.")],
  key: [t("Master key"), t("The key decrypts what it encrypts.")],
  backups: [t("Backups"), t("The last scheduled backup succeeded.")],
};

const REFETCH_MS = 15_000;

/** Health checks of the server. */
export function InstallationHealth() {
  const meta = useApi("GET /api/v1/meta", {}, { isFixed: true });
  const health = useQuery({
    queryKey: ["GET /api/v1/health", "deep"],
    // an unhealthy server returns 503, with the failed checks
    queryFn: ({ signal }) =>
      call("GET /api/v1/health", { query: { deep: true } }, { signal, alsoReplies: 503 }),
    refetchInterval: REFETCH_MS,
    staleTime: 0,
  });
  return (
    <Shown of={health}>
      {({ status, checks = {} }) => (
        <>
          <Section
            title={status === "ok" ? t("All checks passed") : t("Some checks failed")}
            flush
            aside={
              <Button
                icon={RefreshCw}
                kind="quiet"
                busy={health.isFetching}
                onClick={() => void health.refetch()}
              >
                {t("Check again")}
              </Button>
            }
          >
            <ul aria-label={t("Health checks")}>
              {Object.entries(checks).map(([id, { ok, detail }]) => {
                const [name, about] = CHECKS[id] ?? [id, ""];
                const Icon = ok ? CircleCheck : OctagonX;
                return (
                  <li
                    key={id}
                    className="flex items-center gap-3 border-t border-line px-4 py-2.5 text-sm first:border-t-0"
                  >
                    <Icon size={16} aria-hidden className={ok ? "text-good" : "text-bad"} />
                    <span className="min-w-0 grow">
                      <span className="block font-medium">{name}</span>
                      <span className="block text-xs text-soft">{(ok ? "" : detail) || about}</span>
                    </span>
                    {ok && detail && <span className="text-xs text-soft tabular-nums">{detail}</span>}
                    <Tag tone={ok ? "good" : "bad"}>{ok ? "OK" : t("Failed")}</Tag>
                  </li>
                );
              })}
            </ul>
          </Section>
          <Section title={t("Details")}>
            <Facts of={[[t("Version"), meta.data?.version ?? "–"]]} />
          </Section>
        </>
      )}
    </Shown>
  );
}
