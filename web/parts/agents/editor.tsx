import { useMemo, useState } from "react";
import type { Fault } from "../../api.ts";
import { useAll } from "../../data.ts";
import { t } from "../../texts/text.ts";
import { Code } from "../editor/code.tsx";
import { lineOf, withTool } from "./front.ts";

const PLAIN_TOOLS = [
  ["query", t("Reads the organization's tables with SQL")],
  ["datasets", t("Lists datasets, tables and columns")],
  ["web_search", t("Searches the web, if a search engine is configured")],
  ["fetch_page", t("Reads a public page as text")],
] as const;

const FIELDS = [
  ["name", t("Display name. Required.")],
  ["slug", t("Identifier in URLs and the API. Defaults to the name.")],
  ["description", t("One sentence that helps users choose an agent.")],
  ["model", t("Model to use instead of the configured one.")],
  ["temperature", t("0 to 2. Lower values give more predictable answers.")],
  ["maxSteps", t("Maximum tool calls per answer. Default: 10.")],
  ["tools", t("Allowed tools. The agent can use nothing else.")],
] as const;

interface Word {
  name: string;
  about: string;
}

/** Everything that an agent can use, by group. */
function useTools(): readonly (readonly [group: string, tools: readonly Word[]])[] {
  const actions = useAll("GET /api/v1/actions", {}, ({ actions: items }) => items);
  const automations = useAll("GET /api/v1/automations", {}, ({ automations: items }) => items);
  const connections = useAll("GET /api/v1/connections", {}, ({ connections: items }) => items);
  const apis = useAll("GET /api/v1/api-catalog", {}, ({ items }) => items);
  return useMemo(
    () => [
      [t("Data and web"), PLAIN_TOOLS.map(([name, about]) => ({ name, about }))],
      [t("Actions"), (actions.data ?? []).map(({ slug, name }) => ({ name: `action:${slug}`, about: name }))],
      [
        t("Automations"),
        (automations.data ?? []).map(({ slug, name }) => ({
          name: `automation:${slug}`,
          about: name,
        })),
      ],
      [
        t("Connections"),
        (connections.data ?? []).map(({ slug, name }) => ({
          name: `connection:${slug}`,
          about: name,
        })),
      ],
      [
        "APIs",
        (apis.data ?? []).map(({ name, description }) => ({
          name: `api:${name}`,
          about: description,
        })),
      ],
    ],
    [actions.data, automations.data, connections.data, apis.data],
  );
}

interface Props {
  markdown: string;
  onChange: (markdown: string) => void;
  faults: readonly Fault[];
  /** The text that the errors refer to. */
  judged: string;
  onSubmit: () => void;
}

/** Text of an agent: front matter and system prompt, with errors by line. */
export function AgentEditor({ markdown, onChange, faults, judged, onSubmit }: Props) {
  const groups = useTools();
  const [added, setAdded] = useState("");
  const words = useMemo(
    () => [
      ...FIELDS.map(([name, about]) => ({ name: `${name}:`, about })),
      ...groups.flatMap(([, tools]) => tools),
    ],
    [groups],
  );
  const messages = faults.map((fault) => ({ line: lineOf(judged, fault), msg: fault.msg }));
  const isJudged = judged === markdown;
  // biome-ignore lint/correctness/useExhaustiveDependencies: the lines are those of the errors
  const badLines = useMemo(() => (isJudged ? messages.map(({ line }) => line) : []), [faults, isJudged]);
  return (
    <div>
      <div className="mb-3 flex flex-wrap items-center gap-3">
        <select
          aria-label={t("Add tool")}
          className="field w-auto max-w-full"
          value=""
          onChange={({ target: { value } }) => {
            onChange(withTool(markdown, value));
            setAdded(value);
          }}
        >
          <option value="">{t("Add tool")}</option>
          {groups
            .filter(([, tools]) => tools.length > 0)
            .map(([group, tools]) => (
              <optgroup key={group} label={group}>
                {tools.map(({ name }) => (
                  <option key={name} value={name}>
                    {name}
                  </option>
                ))}
              </optgroup>
            ))}
        </select>
        <span className="text-xs text-soft" role="status">
          {added && t("{added} added", { added })}
        </span>
      </div>
      {messages.length > 0 && (
        <div role="alert" tabIndex={-1} className="mb-3 rounded-md bg-bad-soft px-3 py-2 text-sm text-bad">
          <ul>
            {messages.map(({ line, msg }) => (
              <li key={`${line} ${msg}`} className="[overflow-wrap:anywhere]">
                <span className="mr-2 font-mono text-xs">{t("Line {line}", { line })}</span>
                {msg}
              </li>
            ))}
          </ul>
        </div>
      )}
      <Code
        language="markdown"
        label={t("Agent")}
        value={markdown}
        onChange={onChange}
        words={words}
        badLines={badLines}
        minHeight={320}
        onSubmit={onSubmit}
        isInvalid={messages.length > 0}
      />
      <details className="mt-3 text-sm">
        <summary className="text-soft hover:text-ink">{t("Reference")}</summary>
        <div className="mt-3 grid gap-x-8 gap-y-4 sm:grid-cols-2">
          <Words
            title={t("Front matter")}
            of={FIELDS.map(([name, about]) => ({ name, about }))}
            after={t(
              "The text below the second --- line is the system prompt: the agent's role, and how it answers.",
            )}
          />
          <Words
            title={t("Tools")}
            of={[
              ...PLAIN_TOOLS.map(([name, about]) => ({ name, about })),
              { name: "action:SLUG", about: t("Runs this action. Asks for approval if the action writes.") },
              { name: "automation:SLUG", about: t("Starts this automation after you approve") },
              { name: "connection:SLUG", about: t("Lists its files and tables") },
              { name: "api:NAME", about: t("Calls the enabled endpoints and tools of this API") },
            ]}
            after={t("The agent acts with the permissions of the user who asks.")}
          />
        </div>
      </details>
    </div>
  );
}

function Words({ title, of, after }: { title: string; of: readonly Word[]; after: string }) {
  return (
    <div>
      <h3 className="mb-1 text-xs font-semibold">{title}</h3>
      <dl className="space-y-1 text-xs">
        {of.map(({ name, about }) => (
          <div key={name} className="flex gap-3">
            <dt className="w-32 shrink-0 font-mono">{name}</dt>
            <dd className="text-soft">{about}</dd>
          </div>
        ))}
      </dl>
      <p className="mt-2 text-xs text-soft">{after}</p>
    </div>
  );
}
