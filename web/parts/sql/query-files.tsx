import { ChevronDown, Download, Square } from "lucide-react";
import { useEffect, useRef, useState } from "react";
import { fetchFile } from "../../api.ts";
import type { Reply } from "../../calls.ts";
import { t } from "../../texts/text.ts";
import { Button } from "../base/button.tsx";
import { download } from "../base/download.ts";
import { Menu } from "../base/menu.tsx";
import { notify } from "../base/toast.tsx";
import { toCsv } from "../table/csv.ts";

type Format = "csv" | "parquet" | "xlsx";

interface Props {
  /** The executed SQL. */
  sql: string;
  parameters: Record<string, unknown>;
  result: Reply<"POST /api/v1/query">;
}

/** Downloads the rows shown, or the whole result, which the server writes. */
export function QueryFiles({ sql, parameters, result: { columns, rows } }: Props) {
  const [isBusy, setBusy] = useState(false);
  const stop = useRef<AbortController>(null);
  useEffect(() => () => stop.current?.abort(), []);
  const take = async (format: Format) => {
    const mine = new AbortController();
    stop.current = mine;
    setBusy(true);
    try {
      const file = await fetchFile(
        "POST /api/v1/query",
        { query: { format }, body: { sql, parameters } } as never,
        mine.signal,
      );
      download(`query.${format}`, file);
    } catch (error) {
      if (!mine.signal.aborted)
        notify(error instanceof Error ? error.message : t("The download failed."), "bad");
    }
    setBusy(false);
  };
  if (isBusy)
    return (
      <Button kind="quiet" icon={Square} onClick={() => stop.current?.abort()}>
        {t("Cancel download")}
      </Button>
    );
  return (
    <>
      <Button
        kind="quiet"
        icon={Download}
        onClick={() => download("result.csv", new Blob([toCsv(columns, rows)], { type: "text/csv" }))}
      >
        CSV
      </Button>
      <Menu
        label={t("Download all rows")}
        hasText
        align="right"
        buttonClass="inline-flex h-8 items-center gap-1.5 rounded-md px-2 text-sm font-medium text-soft hover:bg-sunken hover:text-ink"
        button={
          <>
            <Download size={15} aria-hidden className="shrink-0" />
            {t("All rows")}
            <ChevronDown size={14} aria-hidden className="shrink-0" />
          </>
        }
        items={[
          { name: "CSV", icon: Download, onPick: () => void take("csv") },
          { name: t("Excel workbook"), icon: Download, onPick: () => void take("xlsx") },
          { name: t("Parquet"), icon: Download, onPick: () => void take("parquet") },
        ]}
      />
    </>
  );
}
