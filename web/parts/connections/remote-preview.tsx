import { Eye } from "lucide-react";
import { useState } from "react";
import { useApi, useMay } from "../../data.ts";
import { t } from "../../texts/text.ts";
import { Button } from "../base/button.tsx";
import { Dialog } from "../base/dialog.tsx";
import { Shown } from "../base/page.tsx";
import { Grid } from "../table/grid.tsx";

interface TableProps {
  connectionId: string;
  schema: string;
  table: string;
}

/** First rows of an external table, loaded on request. */
export function TableRows(props: TableProps) {
  const may = useMay("member");
  const [isOpen, setOpen] = useState(false);
  if (!may) return null;
  return isOpen ? (
    <Rows {...props} />
  ) : (
    <p className="border-t border-line bg-ground px-8 py-2">
      <Button kind="quiet" icon={Eye} onClick={() => setOpen(true)}>
        {t("Preview")}
      </Button>
    </p>
  );
}

function Rows({ connectionId, schema, table }: TableProps) {
  const preview = useApi("GET /api/v1/connections/{connection_id}/schema/preview", {
    path: { connection_id: connectionId },
    query: { schema, table },
  });
  return (
    <div className="border-t border-line">
      <Shown of={preview} rows={3}>
        {({ columns, rows, truncated }) =>
          rows.length === 0 ? (
            <p className="px-10 py-3 text-sm text-soft">{t("This table has no rows.")}</p>
          ) : (
            <>
              <Grid
                columns={columns}
                rows={rows}
                label={t("Rows of {schema}.{table}", { schema, table })}
                height={320}
              />
              {truncated && <p className="px-4 py-1.5 text-xs text-soft">{t("Preview truncated.")}</p>}
            </>
          )
        }
      </Shown>
    </div>
  );
}

interface FileProps {
  connectionId: string;
  file: { id: string; name: string };
  onClose: () => void;
}

/** Beginning of an external file. */
export function FileStart({ connectionId, file, onClose }: FileProps) {
  const preview = useApi("GET /api/v1/connections/{connection_id}/files/preview", {
    path: { connection_id: connectionId },
    query: { path: file.id },
  });
  return (
    <Dialog title={file.name} onClose={onClose} isWide>
      <Shown of={preview} rows={5}>
        {({ text, truncated }) =>
          text === null ? (
            <p className="text-soft">{t("Binary file. No preview available.")}</p>
          ) : (
            <>
              <pre dir="auto" className="overflow-x-auto font-mono text-xs" tabIndex={-1}>
                {text}
              </pre>
              {truncated && <p className="mt-2 text-xs text-soft">{t("Preview truncated.")}</p>}
            </>
          )
        }
      </Shown>
    </Dialog>
  );
}
