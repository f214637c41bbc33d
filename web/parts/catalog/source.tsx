import { useState } from "react";
import { useSearchParams } from "wouter";
import type { Discovery } from "../../calls.ts";
import { useChange } from "../../data.ts";
import { t } from "../../texts/text.ts";
import { LongField } from "../base/fields.tsx";
import { Labelled, TextField } from "../base/labelled.tsx";
import { FormFrame, messagesBy } from "../form/frame.tsx";
import { ApiConnection } from "./connection.tsx";

/** Result of a discovery. */
export type Found = Pick<
  Discovery,
  | "baseUrl"
  | "url"
  | "transport"
  | "endpoints"
  | "tools"
  | "existingApi"
  | "authRequired"
  | "authHints"
  | "warnings"
> &
  Pick<Discovery, "attempts" | "connectionId"> & { type: "http" | "mcp" };

interface Props {
  onFound: (found: Found) => void;
}

/** Discovers an API below a URL, or from its description. */
export function ByAddress({ onFound }: Props) {
  const [address, setAddress] = useState("");
  const [connectionId, setConnectionId] = useState("");
  const isSpec = /\.(json|ya?ml)(\?|$)/i.test(address);
  const discover = useChange("POST /api/v1/api-catalog/discover", {
    touches: [],
    tellsErrors: false,
    onDone: (found) => onFound({ ...found, type: "http" }),
  });
  const messageFor = messagesBy(discover.error);
  return (
    <FormFrame
      title={t("API URL")}
      call={discover}
      drawn={["baseUrl", "specUrl", "connectionId"]}
      isReady={address.trim() !== ""}
      verb={t("Discover endpoints")}
      onSend={() =>
        discover.mutate({
          body: {
            sourceType: "http",
            ...(isSpec ? { specUrl: address.trim() } : { baseUrl: address.trim() }),
            ...(connectionId ? { connectionId } : {}),
          },
        })
      }
    >
      <div className="space-y-4">
        <TextField
          label="URL"
          isRequired
          value={address}
          onChange={setAddress}
          fault={messageFor("baseUrl") ?? messageFor("specUrl")}
          about={t("URL of the API or of its OpenAPI document. Common locations are checked.")}
          placeholder="https://api.example.com"
          maxLength={2048}
          autoFocus
        />
        <ApiConnection value={connectionId} onChange={setConnectionId} fault={messageFor("connectionId")} />
      </div>
    </FormFrame>
  );
}

/** Asks an MCP server for its tools. */
export function ByServer({ onFound }: Props) {
  const [search] = useSearchParams(); // a sign-in returns here
  const [address, setAddress] = useState(search.get("url") ?? "");
  const [transport, setTransport] = useState<"http" | "sse">("http");
  const [connectionId, setConnectionId] = useState("");
  const discover = useChange("POST /api/v1/api-catalog/discover", {
    touches: [],
    tellsErrors: false,
    onDone: (found) => onFound({ ...found, url: found.url ?? address.trim(), type: "mcp" }),
  });
  const messageFor = messagesBy(discover.error);
  return (
    <FormFrame
      title={t("MCP server")}
      call={discover}
      drawn={["mcpUrl", "mcpTransport", "connectionId"]}
      isReady={address.trim() !== ""}
      verb={t("Discover tools")}
      onSend={() =>
        discover.mutate({
          body: {
            sourceType: "mcp",
            mcpUrl: address.trim(),
            mcpTransport: transport,
            ...(connectionId ? { connectionId } : {}),
          },
        })
      }
    >
      <div className="grid gap-4 sm:grid-cols-2">
        <div className="sm:col-span-2">
          <TextField
            label="URL"
            isRequired
            value={address}
            onChange={setAddress}
            fault={messageFor("mcpUrl")}
            placeholder="https://mcp.example.com/mcp"
            maxLength={2048}
            autoFocus
          />
        </div>
        <Labelled
          label={t("Transport")}
          fault={messageFor("mcpTransport")}
          about={t("Older servers use SSE.")}
        >
          {(wiring) => (
            <select
              {...wiring}
              className="field"
              value={transport}
              onChange={(event) => setTransport(event.target.value === "sse" ? "sse" : "http")}
            >
              <option value="http">{t("Streamable HTTP")}</option>
              <option value="sse">{t("SSE")}</option>
            </select>
          )}
        </Labelled>
        <ApiConnection value={connectionId} onChange={setConnectionId} fault={messageFor("connectionId")} />
      </div>
    </FormFrame>
  );
}

const CONTENT_TYPES = [
  ["auto", t("Detect automatically")],
  ["openapi", t("OpenAPI or Swagger")],
  ["curl", t("curl commands")],
  ["har", t("HTTP archive (HAR)")],
  ["postman", t("Postman collection")],
  ["html", t("Web page (HTML)")],
  ["markdown", "Markdown"],
] as const;
export type ContentType = (typeof CONTENT_TYPES)[number][0];

/** Reads pasted text: descriptions, commands, archives, or prose, which needs a language model. */
export function ByText({ onFound }: Props) {
  const [content, setContent] = useState("");
  const [contentType, setContentType] = useState<ContentType>("auto");
  const [baseUrl, setBaseUrl] = useState("");
  const read = useChange("POST /api/v1/api-catalog/ai-import", {
    touches: [],
    tellsErrors: false,
    onDone: (found) =>
      onFound({
        ...found,
        type: "http",
        url: null,
        transport: null,
        tools: [],
        attempts: [],
        connectionId: null,
      }),
  });
  const messageFor = messagesBy(read.error);
  return (
    <FormFrame
      title={t("Description")}
      call={read}
      drawn={["content", "contentType", "baseUrl"]}
      isReady={content.trim() !== ""}
      verb={t("Read endpoints")}
      onSend={() =>
        read.mutate({
          body: { content, contentType, ...(baseUrl.trim() ? { baseUrl: baseUrl.trim() } : {}) },
        })
      }
    >
      <TextToRead
        content={content}
        onContent={setContent}
        contentType={contentType}
        onContentType={setContentType}
        messageFor={messageFor}
      />
      <div className="mt-4">
        <TextField
          label={t("API URL")}
          value={baseUrl}
          onChange={setBaseUrl}
          fault={messageFor("baseUrl")}
          about={t("If the text doesn't include it.")}
          placeholder="https://api.example.com"
          maxLength={2048}
        />
      </div>
    </FormFrame>
  );
}

interface TextProps {
  content: string;
  onContent: (content: string) => void;
  contentType: ContentType;
  onContentType: (type: ContentType) => void;
  messageFor: (field: string) => string | undefined;
}

/** The text to import, and its type. */
export function TextToRead({ content, onContent, contentType, onContentType, messageFor }: TextProps) {
  return (
    <div className="space-y-4">
      <LongField
        label={t("Content")}
        isRequired
        isCode
        rows={10}
        value={content}
        onChange={onContent}
        fault={messageFor("content")}
        about={t("OpenAPI, curl, HAR and Postman are parsed directly. Prose is read by the language model.")}
        placeholder="curl https://api.example.com/v1/orders?limit=10"
      />
      <label className="block text-sm">
        <span className="mb-1 block text-soft">{t("Or choose a file")}</span>
        <input
          type="file"
          className="max-w-full text-sm file:mr-3 file:h-8 file:rounded-md file:border file:border-strong-line file:bg-raised file:px-3 file:text-ink"
          accept=".json,.yaml,.yml,.har,.txt,.md,.html"
          onChange={({ target: { files } }) => void files?.[0]?.text().then(onContent)}
        />
      </label>
      <Labelled label={t("Format")} fault={messageFor("contentType")}>
        {(wiring) => (
          <select
            {...wiring}
            className="field"
            value={contentType}
            onChange={({ target: { value } }) =>
              onContentType(CONTENT_TYPES.find(([id]) => id === value)?.[0] ?? "auto")
            }
          >
            {CONTENT_TYPES.map(([id, name]) => (
              <option key={id} value={id}>
                {name}
              </option>
            ))}
          </select>
        )}
      </Labelled>
    </div>
  );
}
