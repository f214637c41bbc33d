import { useState } from "react";
import type { CatalogEndpoint, CatalogEntry, Reply } from "../../calls.ts";
import { useChange, useMay } from "../../data.ts";
import { t } from "../../texts/text.ts";
import { Button } from "../base/button.tsx";
import { Diff } from "../base/diff.tsx";
import { Section } from "../base/page.tsx";
import { plural } from "../base/plural.ts";
import { FormFrame, messagesBy, Refusal } from "../form/frame.tsx";
import { endpointItem, PickList, toolItem } from "./pick.tsx";
import { type ContentType, TextToRead } from "./source.tsx";

type Read = Reply<"POST /api/v1/api-catalog/{api_id}/ai-import">;
type Refreshed = Reply<"POST /api/v1/api-catalog/{api_id}/refresh">;

/** Reads a description again, and previews the changes. */
export function ImportAgain({ api }: { api: CatalogEntry }) {
  const [content, setContent] = useState("");
  const [contentType, setContentType] = useState<ContentType>("auto");
  const [found, setFound] = useState<Read | null>(null);
  const read = useChange("POST /api/v1/api-catalog/{api_id}/ai-import", {
    touches: [],
    tellsErrors: false,
    onDone: setFound,
  });
  if (found) return <Changes api={api} found={found} onBack={() => setFound(null)} />;
  return (
    <FormFrame
      title={t("Import again")}
      aside={t("You can review changes before applying them")}
      call={read}
      drawn={["content", "contentType"]}
      isReady={content.trim() !== ""}
      verb={t("Compare")}
      onSend={() => read.mutate({ path: { api_id: api.id }, body: { content, contentType } })}
    >
      <TextToRead
        content={content}
        onContent={setContent}
        contentType={contentType}
        onContentType={setContentType}
        messageFor={messagesBy(read.error)}
      />
    </FormFrame>
  );
}

/** What an endpoint sends, and its description. */
const shownOf = ({
  method,
  path,
  description,
  headers,
  queryTemplate,
  bodyTemplate,
  inputSchema,
  listing,
}: Omit<CatalogEndpoint, "enabled" | "approvalRequired" | "modelName">) => ({
  method,
  path,
  description,
  headers,
  queryTemplate,
  bodyTemplate,
  inputSchema,
  listing: listing ?? null,
});

function Changes({ api, found, onBack }: { api: CatalogEntry; found: Read; onBack: () => void }) {
  const { diff, endpoints } = found;
  const [added, setAdded] = useState<ReadonlySet<string>>(() => new Set(endpoints.map(({ name }) => name)));
  const [changed, setChanged] = useState<ReadonlySet<string>>(
    () => new Set(diff.changed.map(({ name }) => name)),
  );
  const [removed, setRemoved] = useState<ReadonlySet<string>>(new Set());
  const save = useChange("PATCH /api/v1/api-catalog/{api_id}", {
    touches: ["/api-catalog"],
    tellsErrors: false,
    done: t("Changes applied"),
    onDone: onBack,
  });
  const picked = added.size + changed.size + removed.size;
  const apply = () =>
    save.mutate({
      path: { api_id: api.id },
      body: {
        endpoints: [
          ...api.endpoints
            .filter(({ name }) => !removed.has(name))
            .map(({ name }) =>
              changed.has(name) ? (diff.changed.find((each) => each.name === name) ?? { name }) : { name },
            ),
          ...endpoints.filter(({ name }) => added.has(name)),
        ],
      },
    });
  const isSame = diff.added.length + diff.changed.length + diff.removed.length === 0;
  return (
    <Section title={t("Changes")} aside={<Button onClick={onBack}>{t("Start over")}</Button>}>
      <Refusal error={save.error} />
      {isSame && <p className="text-sm text-soft">{t("No changes found")}</p>}
      <div className="space-y-5">
        {endpoints.length > 0 && (
          <div>
            <h3 className="mb-2 text-sm font-medium">{t("New")}</h3>
            <PickList items={endpoints.map(endpointItem)} picked={added} onPick={setAdded} label={t("New")} />
          </div>
        )}
        {diff.changed.length > 0 && (
          <div>
            <h3 className="mb-2 text-sm font-medium">{t("Changed")}</h3>
            <PickList
              items={diff.changed.map(endpointItem)}
              picked={changed}
              onPick={setChanged}
              label={t("Changed")}
            />
            {diff.changed.map((each) => {
              const own = api.endpoints.find(({ name }) => name === each.name);
              return (
                <details key={each.name} className="mt-2 text-sm">
                  <summary className="text-soft">{t("Changes to {name}", { name: each.name })}</summary>
                  <div className="mt-1">
                    <Diff
                      before={own ? shownOf(own) : {}}
                      after={shownOf(each)}
                      label={t("Changes to {name}", { name: each.name })}
                    />
                  </div>
                </details>
              );
            })}
          </div>
        )}
        {diff.removed.length > 0 && (
          <div>
            <h3 className="mb-2 text-sm font-medium">
              {t("Missing from the import. Selected items will be removed.")}
            </h3>
            <PickList
              items={diff.removed.map((each) => ({
                name: each.name,
                method: each.method,
                detail: each.path,
                description: null,
                isUnverified: false,
              }))}
              picked={removed}
              onPick={setRemoved}
              label={t("Missing")}
            />
          </div>
        )}
        {!isSame && (
          <Button kind="main" busy={save.isPending} disabled={picked === 0} onClick={apply}>
            {plural(picked, { one: "Apply # change", other: "Apply # changes" })}
          </Button>
        )}
      </div>
    </Section>
  );
}

/** New tools of a server, which can be added to the entry. */
export function NewTools({
  api,
  found,
  onDone,
}: {
  api: CatalogEntry;
  found: Refreshed;
  onDone: () => void;
}) {
  const may = useMay("member");
  const [picked, setPicked] = useState<ReadonlySet<string>>(new Set());
  const save = useChange("PATCH /api/v1/api-catalog/{api_id}", {
    touches: ["/api-catalog"],
    tellsErrors: false,
    done: t("Tools added"),
    onDone,
  });
  if (found.added.length === 0 || !may) return null;
  return (
    <Section title={t("New tools available")} aside={<Button onClick={onDone}>{t("Cancel")}</Button>}>
      <Refusal error={save.error} />
      <PickList items={found.added.map(toolItem)} picked={picked} onPick={setPicked} label={t("New tools")} />
      <div className="mt-4">
        <Button
          kind="main"
          busy={save.isPending}
          disabled={picked.size === 0}
          onClick={() =>
            save.mutate({
              path: { api_id: api.id },
              body: {
                tools: [
                  ...api.tools.map(({ upstreamName }) => ({ upstreamName })),
                  ...found.added.filter(({ upstreamName }) => picked.has(upstreamName)),
                ],
              },
            })
          }
        >
          {plural(picked.size, { one: "Add # tool", other: "Add # tools" })}
        </Button>
      </div>
    </Section>
  );
}
