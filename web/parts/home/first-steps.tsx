import { Workflow } from "lucide-react";
import { useApi, useMay } from "../../data.ts";
import { t } from "../../texts/text.ts";
import { LinkButton } from "../base/button.tsx";
import { Empty } from "../base/page.tsx";

const QUICK_START = "quick-start";

/** What to do in an organization where nothing has run. */
export function FirstSteps() {
  const may = useMay("member");
  const bundles = useApi("GET /api/v1/bundles", { query: { limit: 50 } }, { isFixed: true });
  const bundle = bundles.data?.bundles.find(({ slug }) => slug === QUICK_START);
  return (
    <div className="card mb-5">
      <Empty
        icon={Workflow}
        title={t("Welcome to Weir")}
        action={
          may && (
            <>
              <LinkButton kind="main" href="/automations/new">
                {t("Create an automation")}
              </LinkButton>
              {bundle && <LinkButton href={`/bundles/${bundle.slug}`}>{t("Install quick start")}</LinkButton>}
              <LinkButton href="/connections/new">{t("Create connection")}</LinkButton>
              <LinkButton href="/bundles">{t("Browse bundles")}</LinkButton>
            </>
          )
        }
      >
        {t("An automation runs its steps when a webhook arrives, on a schedule or when you start it.")}
        {bundle && " "}
        {bundle && t("To explore a working one with sample data first, install the quick start.")}
      </Empty>
    </div>
  );
}
