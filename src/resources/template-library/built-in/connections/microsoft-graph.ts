import type { Pages, Service } from "./contract.ts";

const pages = (pageSize: number): Pages => ({
  type: "json_link",
  nextPath: '"@odata.nextLink"',
  sizeParam: "$top",
  pageSize,
});

export const microsoftGraph: Service = {
  number: 8,
  slug: "microsoft-graph",
  name: "Microsoft 365",
  description:
    "Mail, calendar, files, Excel workbooks and users of Microsoft 365 through Microsoft Graph, by signing in with Microsoft.",
  docs: "https://learn.microsoft.com/en-us/graph/api/overview",
  baseUrl: "https://graph.microsoft.com",
  root: "/v1.0",
  auth: {
    type: "oauth2_authorization_code",
    authorizeUrl: "https://login.microsoftonline.com/common/oauth2/v2.0/authorize",
    tokenUrl: "https://login.microsoftonline.com/common/oauth2/v2.0/token",
    scopes: [
      "offline_access",
      "User.Read",
      "User.ReadBasic.All",
      "Mail.Read",
      "Mail.Send",
      "Calendars.ReadWrite",
      "Contacts.Read",
      "Files.ReadWrite",
    ],
    tokenAuth: "body",
  },
  verify: { path: "/me" },
  config: {
    workbookId: {
      title: "Workbook",
      description:
        "ID of an Excel file in OneDrive, from the list files. Required for the lists of a workbook.",
      isOptional: true,
    },
    table: {
      title: "Excel table",
      description: "Name of a table in the workbook, as Excel shows it under Table Design.",
      isOptional: true,
    },
  },
  credentials: {
    clientId: {
      title: "Application (client) id",
      description:
        "Microsoft Entra admin center → App registrations → New registration. Use the redirect URI that the connection shows, with the platform Web. For a single-tenant app, replace common in both URLs with the tenant ID.",
    },
    clientSecret: {
      title: "Client secret",
      description: "App registration → Certificates & secrets → New client secret: its value.",
    },
  },
  resources: [
    {
      name: "messages",
      title: "Mails",
      spec: "/me/messages",
      primaryKey: ["id"],
      endpoint: { dataPath: "value", paginator: pages(100) },
    },
    {
      name: "mail_folders",
      title: "Mail folders",
      spec: "/me/mailFolders",
      primaryKey: ["id"],
      endpoint: { dataPath: "value", paginator: pages(100) },
    },
    {
      name: "events",
      title: "Events",
      spec: "/me/events",
      primaryKey: ["id"],
      endpoint: { dataPath: "value", paginator: pages(100) },
    },
    {
      name: "calendars",
      title: "Calendars",
      spec: "/me/calendars",
      primaryKey: ["id"],
      endpoint: { dataPath: "value", paginator: pages(100) },
    },
    {
      name: "contacts",
      title: "Contacts",
      spec: "/me/contacts",
      primaryKey: ["id"],
      endpoint: { dataPath: "value", paginator: pages(100) },
    },
    {
      name: "files",
      title: "Files at the top of OneDrive",
      spec: "/me/drive/root/children",
      primaryKey: ["id"],
      endpoint: { dataPath: "value", paginator: pages(200) },
    },
    {
      name: "users",
      title: "People of the organization",
      spec: "/users",
      primaryKey: ["id"],
      endpoint: { dataPath: "value", paginator: pages(999) },
    },
    {
      name: "worksheets",
      title: "Sheets of the workbook",
      spec: "/me/drive/items/{{config.workbookId}}/workbook/worksheets",
      primaryKey: ["id"],
      endpoint: { dataPath: "value", paginator: { type: "none" } },
    },
    {
      name: "table_rows",
      title: "Rows of the Excel table",
      spec: "/me/drive/items/{{config.workbookId}}/workbook/tables/{{config.table}}/rows",
      primaryKey: ["index"],
      endpoint: {
        dataPath: "value",
        paginator: { type: "offset", offsetParam: "$skip", sizeParam: "$top", pageSize: 500 },
      },
    },
  ],
};
