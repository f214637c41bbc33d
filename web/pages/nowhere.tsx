import { Compass } from "lucide-react";
import { LinkButton } from "../parts/base/button.tsx";
import { Empty, PageHead } from "../parts/base/page.tsx";
import { t } from "../texts/text.ts";

export default function Nowhere() {
  return (
    <>
      <PageHead title={t("Page not found")} />
      <div className="card">
        <Empty
          icon={Compass}
          title={t("There's nothing at this address")}
          action={<LinkButton href="/">{t("Go to Home")}</LinkButton>}
        >
          {t("Check the address, or press Ctrl+K to search.")}
        </Empty>
      </div>
    </>
  );
}
