import { Save } from "lucide-react";
import { useState } from "react";
import { callTagged } from "../../api.ts";
import { useChange } from "../../data.ts";
import { t } from "../../texts/text.ts";
import { Button } from "../base/button.tsx";
import { Dialog } from "../base/dialog.tsx";
import { TextField } from "../base/labelled.tsx";
import type { NewPanel } from "../dashboards/adding.ts";
import { namesIn, type Parameter, panelValuesFor, valueOfText } from "./parameters.ts";
import { type Tab, tabOf, textOfTab } from "./tabs.ts";

const NONE: Parameter = { type: "text", text: "" };

const bodyOf = ({ sql, parameters, chart }: Tab) => ({
  sql,
  chart,
  parameters: Object.fromEntries(
    namesIn(sql).map((name) => {
      const parameter = parameters[name] ?? NONE;
      return [name, { type: parameter.type, default: valueOfText(parameter) }];
    }),
  ),
});

/** Dashboard panel of a tab: the saved query if it is unchanged, else its SQL and values. */
export function panelOf(tab: Tab): NewPanel {
  const { saved, sql, parameters, view } = tab;
  const title = saved?.name ?? "";
  const chart = view === "chart" ? tab.chart : null;
  if (saved && saved.text === textOfTab(tab))
    return { title, sql: null, queryId: saved.id, parameters: {}, chart };
  return { title, sql, queryId: null, parameters: panelValuesFor(sql, parameters), chart };
}

/** Opens a saved query in a tab. */
export async function readTab(id: string, values: Record<string, unknown> = {}): Promise<Tab> {
  const { reply, etag } = await callTagged("GET /api/v1/queries/{query_id}", { path: { query_id: id } });
  return tabOf(reply, etag, values);
}

interface Props {
  tab: Tab;
  onSaved: (change: Partial<Tab>) => void;
}

/** Saves the query of a tab, with its chart, and with the parameters' values as defaults. */
export function SaveButtons({ tab, onSaved }: Props) {
  const [isNaming, setNaming] = useState(false);
  const { saved } = tab;
  const onDone = ({ id }: { id: string }) =>
    void readTab(id).then((read) => onSaved({ saved: read.saved, parameters: read.parameters }));
  /** Someone else's change is replaced by the next attempt. */
  const readTag = async () => {
    if (!saved) return;
    const path = { query_id: saved.id };
    const { etag } = await callTagged("GET /api/v1/queries/{query_id}", { path }).catch(() => saved);
    onSaved({ saved: { ...saved, etag } });
  };
  const update = useChange("PATCH /api/v1/queries/{query_id}", {
    touches: ["/queries", "/dashboards"],
    done: t("Query saved"),
    onDone,
    onChanged: readTag,
    ...(saved?.etag ? { headers: { "if-match": saved.etag } } : {}),
  });
  const isChanged = saved !== null && saved.text !== textOfTab(tab);
  return (
    <>
      {saved ? (
        <>
          <Button
            icon={Save}
            busy={update.isPending}
            disabled={!isChanged}
            onClick={() => update.mutate({ path: { query_id: saved.id }, body: bodyOf(tab) })}
          >
            {t("Save")}
          </Button>
          <Button kind="quiet" onClick={() => setNaming(true)}>
            {t("Save as")}
          </Button>
        </>
      ) : (
        <Button icon={Save} disabled={tab.sql.trim() === ""} onClick={() => setNaming(true)}>
          {t("Save")}
        </Button>
      )}
      {isNaming && <NameDialog tab={tab} onDone={onDone} onClose={() => setNaming(false)} />}
    </>
  );
}

interface NameProps {
  tab: Tab;
  onDone: (query: { id: string }) => void;
  onClose: () => void;
}

function NameDialog({ tab, onDone, onClose }: NameProps) {
  const [name, setName] = useState("");
  const [description, setDescription] = useState("");
  const create = useChange("POST /api/v1/queries", {
    touches: ["/queries"],
    done: t("Query saved"),
    onDone: (query) => {
      onDone(query);
      onClose();
    },
    tellsErrors: false,
  });
  const save = () =>
    create.mutate({
      body: { ...bodyOf(tab), name, description: description.trim() === "" ? null : description },
    });
  return (
    <Dialog
      title={t("Save query")}
      onClose={onClose}
      foot={
        <>
          <Button onClick={onClose}>{t("Cancel")}</Button>
          <Button kind="main" busy={create.isPending} disabled={name.trim() === ""} onClick={save}>
            {t("Save query")}
          </Button>
        </>
      }
    >
      <div className="space-y-4">
        <TextField label={t("Name")} isRequired autoFocus maxLength={255} value={name} onChange={setName} />
        <TextField label={t("Description")} maxLength={2048} value={description} onChange={setDescription} />
        <p className="text-soft">{t("The chart and the values of the parameters are saved with it.")}</p>
        {create.error && (
          <p role="alert" className="text-xs text-bad">
            {create.error.message}
          </p>
        )}
      </div>
    </Dialog>
  );
}
