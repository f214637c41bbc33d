import { Send } from "lucide-react";
import { useState } from "react";
import type { CatalogEntry, Schema } from "../../calls.ts";
import { useChange } from "../../data.ts";
import { t } from "../../texts/text.ts";
import { Button } from "../base/button.tsx";
import { readJson } from "../base/read-json.ts";
import { Tag } from "../base/status.tsx";
import { jsonProblem } from "../base/texts.ts";
import { inWords, sized } from "../base/time.tsx";
import { Tree } from "../base/tree.tsx";
import { Code } from "../editor/code.tsx";
import { AnswerForm, Faults, type Values } from "../form/form.tsx";
import { faultsOf, Refusal } from "../form/frame.tsx";
import { propertiesOf, startValue } from "../form/schema.ts";

interface Props {
  api: CatalogEntry;
  name: string;
  schema: Schema | null;
}

/** Calls an endpoint or tool once, with the entered arguments. */
export function EndpointTester({ api, name, schema }: Props) {
  const [input, setInput] = useState<Values>(() => startValue(schema ?? {}, true, true));
  const [text, setText] = useState("{}");
  const [problem, setProblem] = useState<string | null>(null);
  const test = useChange("POST /api/v1/api-catalog/{api_id}/endpoints/{name}/test", {
    touches: [],
    tellsErrors: false,
  });
  const isForm = schema !== null && propertiesOf(schema).length > 0;
  const send = () => {
    let body = input;
    if (!isForm) {
      try {
        body = readJson(text.trim() === "" ? "{}" : text) as Values;
      } catch (error) {
        return setProblem(jsonProblem(error));
      }
    }
    setProblem(null);
    test.mutate({ path: { api_id: api.id, name }, body: { input: body as never } });
  };
  const { data: reply } = test;
  return (
    <div>
      <form
        className="space-y-4"
        onSubmit={(event) => {
          event.preventDefault();
          send();
        }}
      >
        <Refusal error={test.error} />
        <Faults of={faultsOf(test.error)} drawn={isForm ? [["body", "input"]] : []} />
        {isForm ? (
          <AnswerForm
            addsDefaults
            schema={schema}
            value={input}
            onChange={setInput}
            at={["body", "input"]}
            faults={faultsOf(test.error)}
          />
        ) : (
          <Code
            language="json"
            label={t("Arguments of {name}", { name })}
            value={text}
            onChange={setText}
            minHeight={70}
            onSubmit={send}
            isInvalid={problem !== null}
          />
        )}
        {problem && (
          <p role="alert" className="text-xs text-bad">
            {problem}
          </p>
        )}
        <Button type="submit" icon={Send} busy={test.isPending}>
          {" "}
          {t("Send call")}
        </Button>
      </form>
      {reply && (
        <div role="status" className="mt-4 space-y-3 rounded-md border border-line p-3">
          <p className="flex flex-wrap items-center gap-2 text-sm">
            <Tag tone={reply.status < 400 ? "good" : "bad"}>{reply.status}</Tag>
            <span className="text-soft">
              {inWords(reply.durationSeconds)} · {sized(reply.bytes)}{" "}
              {reply.truncated && ` · ${t("truncated")}`}
            </span>
          </p>
          {reply.extracted !== null && (
            <div>
              <p className="mb-1 text-xs text-soft">{t("Extracted value")}</p>
              <Tree value={reply.extracted} copyLabel={t("Copy extracted value as JSON")} />
            </div>
          )}
          <div>
            <p className="mb-1 text-xs text-soft">{t("Body")}</p>
            <Tree value={reply.body} copyLabel={t("Copy reply as JSON")} />
          </div>
          {Object.keys(reply.headers).length > 0 && (
            <details>
              <summary className="text-xs text-soft">{t("Headers")}</summary>
              <Tree value={reply.headers} copyLabel={t("Copy headers as JSON")} />
            </details>
          )}
        </div>
      )}
    </div>
  );
}
