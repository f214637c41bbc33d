import { useMutation, useQueryClient } from "@tanstack/react-query";
import { Upload } from "lucide-react";
import { type ReactNode, useRef, useState } from "react";
import { useLocation } from "wouter";
import { call } from "../../api.ts";
import { refresh, useMay } from "../../data.ts";
import { t } from "../../texts/text.ts";
import { Button } from "../base/button.tsx";
import { Dialog } from "../base/dialog.tsx";
import { Labelled, TextField } from "../base/labelled.tsx";
import { plural } from "../base/plural.ts";
import { sized } from "../base/time.tsx";
import { notify } from "../base/toast.tsx";
import { readFileName } from "./file-format.ts";

const LAYERS = ["raw", "staging", "marts"] as const;
const TYPES = ".csv,.tsv,.json,.jsonl,.ndjson,.parquet,.gz,.zst";

interface Target {
  layer: string;
  dataset: string;
  table: string;
}

interface Props {
  /** The table shown. None on the list of datasets. */
  to?: Target;
  children: (button: ReactNode) => ReactNode;
}

/** Loads a file into a table: dropped on the page, or selected with the button. */
export function UploadArea({ to, children }: Props) {
  const may = useMay("member");
  const [file, setFile] = useState<File | null>(null);
  const [isOver, setOver] = useState(false);
  const input = useRef<HTMLInputElement>(null);
  const take = (files: FileList | null | undefined) => {
    const [first] = files ?? [];
    if (!first) return;
    if (readFileName(first.name).format) setFile(first);
    else
      notify(
        t("{name} can't be uploaded. Use a CSV, TSV, JSON, JSON Lines or Parquet file.", {
          name: first.name,
        }),
        "bad",
      );
  };
  if (!may) return children(null);
  const button = (
    <>
      <Button icon={Upload} onClick={() => input.current?.click()}>
        {t("Upload file")}
      </Button>
      <input
        ref={input}
        type="file"
        accept={TYPES}
        hidden
        aria-label={t("File to upload")}
        onChange={({ target }) => {
          take(target.files);
          target.value = "";
        }}
      />
    </>
  );
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the button does the same as dropping a file
    <div
      className={isOver ? "rounded-xl outline-2 outline-offset-4 outline-accent outline-dashed" : ""}
      onDragOver={(event) => {
        if (!event.dataTransfer.types.includes("Files")) return;
        event.preventDefault();
        setOver(true);
      }}
      onDragLeave={() => setOver(false)}
      onDrop={(event) => {
        event.preventDefault();
        setOver(false);
        take(event.dataTransfer.files);
      }}
    >
      {children(button)}
      {file && <UploadDialog file={file} to={to} onClose={() => setFile(null)} />}
    </div>
  );
}

function UploadDialog({ file, to, onClose }: { file: File; to: Target | undefined; onClose: () => void }) {
  const { format, dataset: proposed } = readFileName(file.name);
  const [target, setTarget] = useState<Target>(to ?? { layer: "raw", dataset: proposed, table: proposed });
  const [writeDisposition, setDisposition] = useState<"replace" | "append">(to ? "append" : "replace");
  const [, go] = useLocation();
  const queries = useQueryClient();
  const { layer, dataset, table } = target;
  const load = useMutation({
    mutationFn: () =>
      call(
        "PUT /api/v1/datasets/{layer}/{dataset}/upload",
        { path: { layer, dataset }, query: { table, format, writeDisposition } } as never,
        { raw: file },
      ),
    async onSuccess({ rows, warnings }) {
      await refresh(queries, "/datasets");
      notify(plural(rows, { one: "# row uploaded", other: "# rows uploaded" }));
      if (!warnings) showTable();
    },
  });
  const showTable = () => {
    onClose();
    go(`/datasets/${layer}/${dataset}?table=${encodeURIComponent(table)}`);
  };
  const set = (change: Partial<Target>) => setTarget({ ...target, ...change });
  if (load.data?.warnings)
    return (
      <Dialog
        title={plural(load.data.rows, { one: "# row uploaded", other: "# rows uploaded" })}
        onClose={onClose}
        foot={
          // its key makes it another button than "Cancel", so that it gets the focus
          <Button key="show" kind="main" autoFocus onClick={showTable}>
            {t("Show table")}
          </Button>
        }
      >
        <ul className="list-disc rounded-md bg-warn-soft py-2 pr-3 pl-8 text-sm text-warn">
          {load.data.warnings.map((warning) => (
            <li key={warning} className="[overflow-wrap:anywhere]" dir="auto">
              {warning}
            </li>
          ))}
        </ul>
      </Dialog>
    );
  return (
    <Dialog
      title={t("Upload {name}", { name: file.name })}
      onClose={onClose}
      foot={
        <>
          <Button onClick={onClose}>{t("Cancel")}</Button>
          <Button
            kind="main"
            icon={Upload}
            busy={load.isPending}
            disabled={dataset === "" || table === ""}
            onClick={() => load.mutate()}
          >
            {load.isPending ? t("Uploading ({size})", { size: sized(file.size) }) : t("Upload")}
          </Button>
        </>
      }
    >
      <div className="space-y-4">
        <div className="grid grid-cols-3 gap-3">
          <Select
            label={t("Layer")}
            value={layer}
            options={LAYERS}
            onChange={(value) => set({ layer: value })}
          />
          <TextField
            label={t("Dataset")}
            isRequired
            maxLength={63}
            value={dataset}
            onChange={(value) => set({ dataset: value })}
          />
          <TextField
            label={t("Table")}
            isRequired
            maxLength={63}
            value={table}
            onChange={(value) => set({ table: value })}
          />
        </div>
        <Select
          label={t("Existing rows")}
          value={writeDisposition}
          options={["replace", "append"]}
          names={{ replace: t("Replace"), append: t("Keep, and append") }}
          onChange={(value) => setDisposition(value as "replace" | "append")}
        />
        {load.error && (
          <p role="alert" className="text-xs whitespace-pre-wrap text-bad">
            {load.error.message}
          </p>
        )}
      </div>
    </Dialog>
  );
}

interface SelectProps {
  label: string;
  value: string;
  options: readonly string[];
  names?: Readonly<Record<string, string>>;
  onChange: (value: string) => void;
}

const Select = ({ label, value, options, names = {}, onChange }: SelectProps) => (
  <Labelled label={label}>
    {(wiring) => (
      <select {...wiring} className="field" value={value} onChange={(event) => onChange(event.target.value)}>
        {options.map((each) => (
          <option key={each} value={each}>
            {names[each] ?? each}
          </option>
        ))}
      </select>
    )}
  </Labelled>
);
