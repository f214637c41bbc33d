import type { Service } from "./contract.ts";

export const matrix: Service = {
  number: 39,
  slug: "matrix",
  name: "Matrix",
  description: "Reads rooms, members and messages of a Matrix homeserver, and sends messages.",
  docs: "https://spec.matrix.org/latest/client-server-api/",
  baseUrl: null,
  baseUrlHint: "URL of the homeserver, such as https://matrix.example.com.",
  root: "/_matrix/client/v3",
  auth: { type: "bearer" },
  verify: { path: "/account/whoami" },
  config: {
    roomId: {
      title: "Room",
      description:
        "Internal ID of the room, such as !abc:example.com: in Element under Room settings → Advanced.",
      isOptional: true,
    },
  },
  credentials: {
    token: {
      title: "Access token",
      description:
        "In Element: All settings → Help & About → Access token. Preferably of a separate account.",
    },
  },
  resources: [
    {
      name: "messages",
      title: "Events of the room, the newest first",
      spec: "/rooms/{{config.roomId}}/messages",
      primaryKey: ["event_id"],
      endpoint: {
        params: { dir: "b" },
        dataPath: "chunk",
        paginator: {
          type: "cursor",
          cursorPath: "end",
          cursorParam: "from",
          sizeParam: "limit",
          pageSize: 100,
        },
      },
    },
    {
      name: "members",
      title: "Members of the room",
      spec: "/rooms/{{config.roomId}}/members",
      primaryKey: ["event_id"],
      endpoint: { dataPath: "chunk", paginator: { type: "none" } },
    },
    {
      name: "public_rooms",
      title: "Public rooms of the homeserver",
      spec: "/publicRooms",
      primaryKey: ["room_id"],
      endpoint: {
        dataPath: "chunk",
        paginator: {
          type: "cursor",
          cursorPath: "next_batch",
          cursorParam: "since",
          sizeParam: "limit",
          pageSize: 100,
        },
      },
    },
    {
      name: "devices",
      title: "Devices of the account",
      spec: "/devices",
      primaryKey: ["device_id"],
      endpoint: { dataPath: "devices", paginator: { type: "none" } },
    },
  ],
};
