import { Lock } from "lucide-react";
import type { ReactNode } from "react";
import { useApi } from "../../data.ts";
import { t } from "../../texts/text.ts";
import { Empty, PageHead, Shown } from "../base/page.tsx";

/** A page for operators of the installation. Others see who to ask. */
export function OperatorsOnly({ children }: { children: ReactNode }) {
  const rights = useApi("GET /api/v1/installation", {}, { isFixed: true });
  return (
    <Shown of={rights}>
      {({ isOperator }) =>
        isOperator ? (
          children
        ) : (
          <>
            <PageHead title={t("Installation")} />
            <div className="card">
              <Empty icon={Lock} title={t("Only operators can view this page")}>
                {t("Ask an operator of this installation to give you access.")}
              </Empty>
            </div>
          </>
        )
      }
    </Shown>
  );
}
