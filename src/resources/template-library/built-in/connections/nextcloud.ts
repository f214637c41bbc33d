import type { Service } from "./contract.ts";

export const nextcloud: Service = {
  number: 40,
  slug: "nextcloud",
  name: "Nextcloud",
  description: "Shares, notifications and, for administrators, users and groups of Nextcloud.",
  docs: "https://docs.nextcloud.com/server/latest/developer_manual/client_apis/OCS/index.html",
  baseUrl: null,
  baseUrlHint: "URL of your Nextcloud, such as https://cloud.example.com.",
  root: "/ocs/v2.php",
  auth: { type: "basic", password: "{{credentials.appPassword}}" },
  headers: { "OCS-APIRequest": "true" },
  verify: { path: "/cloud/user?format=json" },
  credentials: {
    username: { title: "User name" },
    appPassword: {
      title: "App password",
      description: "Nextcloud → Personal settings → Security → Devices & sessions → Create new app password.",
    },
  },
  resources: [
    {
      name: "shares",
      title: "Files that are shared",
      spec: "/apps/files_sharing/api/v1/shares",
      primaryKey: ["id"],
      endpoint: { params: { format: "json" }, dataPath: "ocs.data", paginator: { type: "none" } },
    },
    {
      name: "notifications",
      title: "Notifications",
      spec: "/apps/notifications/api/v2/notifications",
      primaryKey: ["notification_id"],
      endpoint: { params: { format: "json" }, dataPath: "ocs.data", paginator: { type: "none" } },
    },
    {
      name: "users",
      title: "Names of people",
      spec: "/cloud/users",
      endpoint: {
        params: { format: "json" },
        dataPath: "ocs.data.users",
        paginator: { type: "offset", sizeParam: "limit", pageSize: 500 },
      },
    },
    {
      name: "groups",
      title: "Names of groups",
      spec: "/cloud/groups",
      endpoint: {
        params: { format: "json" },
        dataPath: "ocs.data.groups",
        paginator: { type: "offset", sizeParam: "limit", pageSize: 500 },
      },
    },
  ],
};
