import { t } from "../../texts/text.ts";
import { FileButton } from "../base/file-button.tsx";
import { Section } from "../base/page.tsx";

/** For owners: exports the whole organization as an archive. */
export function OrganizationExport({ slug }: { slug: string }) {
  return (
    <Section title={t("Export organization")}>
      <div className="flex flex-wrap items-center justify-between gap-3">
        <p className="max-w-prose text-sm text-soft">
          {t(
            "Download definitions, runs, audit log, tables and files as a tar archive. Credentials and other users' chats are not included.",
          )}
        </p>
        <FileButton
          call="GET /api/v1/organizations/current/export"
          input={{}}
          name={`${slug}.tar`}
          verb={t("Export")}
        />
      </div>
    </Section>
  );
}
