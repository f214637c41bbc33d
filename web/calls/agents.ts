import type {
  AgentSpecInput,
  AgentSpecPage,
  AgentSpecQuery,
  AgentSpec as AgentSpecShape,
} from "../../src/resources/agents/wire.ts";
import type {
  CatalogPage,
  CatalogPatch,
  CatalogQuery,
  CatalogEntry as CatalogShape,
  Deletion,
  HttpApiCreate,
  McpApiCreate,
} from "../../src/resources/api-catalog/wire.ts";
import type {
  DiscoveryRequest,
  DiscoveryResult,
  EndpointTest,
  EndpointTestResult,
  EntryImportResult,
  ImportRequest,
  ImportResult,
  RefreshResult,
} from "../../src/resources/api-catalog/wire-import.ts";
import type {
  ServerSignInRequest,
  SignInRequest,
  SignInStarted,
  SignInView,
} from "../../src/resources/catalog-sign-ins/wire.ts";
import type {
  BulkDelete,
  BulkDeleted,
  MessagePage,
  MessageQuery,
  ThreadCreate,
  ThreadPage,
  ThreadPatch,
  ThreadQuery,
  Thread as ThreadShape,
  TurnCancel,
  TurnInput,
} from "../../src/resources/chat/wire.ts";
import type { Asked, Nothing, Of } from "./shape.ts";

/** Agents, chats, and the APIs of the catalog. */
export interface AgentCalls {
  "GET /api/v1/agents/specs": { query: Asked<typeof AgentSpecQuery>; reply: Of<typeof AgentSpecPage> };
  "POST /api/v1/agents/specs": { body: Of<typeof AgentSpecInput>; reply: Of<typeof AgentSpecShape> };
  "GET /api/v1/agents/specs/{spec_id}": { reply: Of<typeof AgentSpecShape> };
  "PATCH /api/v1/agents/specs/{spec_id}": {
    body: Of<typeof AgentSpecInput>;
    reply: Of<typeof AgentSpecShape>;
  };
  "DELETE /api/v1/agents/specs/{spec_id}": { reply: Nothing };
  "GET /api/v1/chat/threads": { query: Asked<typeof ThreadQuery>; reply: Of<typeof ThreadPage> };
  "POST /api/v1/chat/threads": { body: Of<typeof ThreadCreate>; reply: Of<typeof ThreadShape> };
  "POST /api/v1/chat/threads/bulk-delete": {
    body: Asked<typeof BulkDelete>;
    reply: Of<typeof BulkDeleted>;
  };
  "GET /api/v1/chat/threads/{thread_id}": { reply: Of<typeof ThreadShape> };
  "PATCH /api/v1/chat/threads/{thread_id}": {
    body: Of<typeof ThreadPatch>;
    reply: Of<typeof ThreadShape>;
  };
  "DELETE /api/v1/chat/threads/{thread_id}": { reply: Nothing };
  "GET /api/v1/chat/threads/{thread_id}/messages": {
    query: Asked<typeof MessageQuery>;
    reply: Of<typeof MessagePage>;
  };
  "POST /api/v1/chat/threads/{thread_id}/turns/stream": { body: Asked<typeof TurnInput>; reply: never };
  "GET /api/v1/chat/threads/{thread_id}/turns/stream": { reply: never };
  "POST /api/v1/chat/threads/{thread_id}/turns/cancel": {
    body: Of<typeof TurnCancel>;
    reply: Nothing;
  };
  "GET /api/v1/api-catalog": { query: Asked<typeof CatalogQuery>; reply: Of<typeof CatalogPage> };
  "POST /api/v1/api-catalog/discover": {
    body: Pick<Of<typeof DiscoveryRequest>, "sourceType"> & Asked<typeof DiscoveryRequest>;
    reply: Of<typeof DiscoveryResult>;
  };
  "POST /api/v1/api-catalog/ai-import": {
    body: { content: string } & Asked<typeof ImportRequest>;
    reply: Of<typeof ImportResult>;
  };
  "POST /api/v1/api-catalog/http": { body: Of<typeof HttpApiCreate>; reply: Of<typeof CatalogShape> };
  "POST /api/v1/api-catalog/mcp": { body: Of<typeof McpApiCreate>; reply: Of<typeof CatalogShape> };
  "GET /api/v1/api-catalog/{api_id}": { reply: Of<typeof CatalogShape> };
  "PATCH /api/v1/api-catalog/{api_id}": {
    body: Of<typeof CatalogPatch>;
    reply: Of<typeof CatalogShape>;
  };
  "DELETE /api/v1/api-catalog/{api_id}": { reply: Of<typeof Deletion> };
  "POST /api/v1/api-catalog/{api_id}/ai-import": {
    body: { content: string } & Asked<typeof ImportRequest>;
    reply: Of<typeof EntryImportResult>;
  };
  "POST /api/v1/api-catalog/{api_id}/refresh": { reply: Of<typeof RefreshResult> };
  "POST /api/v1/api-catalog/authorize": {
    body: { mcpUrl: string } & Asked<typeof ServerSignInRequest>;
    reply: Of<typeof SignInStarted>;
  };
  "POST /api/v1/api-catalog/{api_id}/authorize": {
    body: Of<typeof SignInRequest>;
    reply: Of<typeof SignInStarted>;
  };
  "GET /api/v1/api-catalog/{api_id}/sign-in": { reply: Of<typeof SignInView> };
  "DELETE /api/v1/api-catalog/{api_id}/sign-in": { reply: Nothing };
  "POST /api/v1/api-catalog/{api_id}/endpoints/{name}/test": {
    body: Of<typeof EndpointTest>;
    reply: Of<typeof EndpointTestResult>;
  };
}
