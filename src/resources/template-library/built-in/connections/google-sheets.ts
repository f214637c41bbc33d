import type { Service } from "./contract.ts";

/** Rows of a range have no names: their cells become the columns a to z, and those after z one list. */
const CELLS =
  "(values || `[]`)[*].{a: [0], b: [1], c: [2], d: [3], e: [4], f: [5], g: [6], h: [7], i: [8], j: [9], k: [10], l: [11], m: [12], n: [13], o: [14], p: [15], q: [16], r: [17], s: [18], t: [19], u: [20], v: [21], w: [22], x: [23], y: [24], z: [25], beyond_z: [26:] || `null`}";

export const googleSheets: Service = {
  number: 5,
  slug: "google-sheets",
  name: "Google Sheets",
  description: "Reads and writes the cells of a Google spreadsheet, by signing in with Google.",
  docs: "https://developers.google.com/workspace/sheets/api/reference/rest",
  baseUrl: "https://sheets.googleapis.com",
  root: "/v4",
  auth: {
    type: "oauth2_authorization_code",
    authorizeUrl: "https://accounts.google.com/o/oauth2/v2/auth",
    tokenUrl: "https://oauth2.googleapis.com/token",
    scopes: ["https://www.googleapis.com/auth/spreadsheets"],
    extraParams: { access_type: "offline", prompt: "consent" },
    tokenAuth: "body",
  },
  verify: { path: "/spreadsheets/{{config.spreadsheetId}}?fields=spreadsheetId" },
  requestsPerMinute: 60,
  config: {
    spreadsheetId: {
      title: "Spreadsheet",
      description: "ID of the spreadsheet: between /d/ and /edit in its URL.",
    },
    range: {
      title: "Range",
      description:
        "Range that the list rows reads, such as Orders!A2:Z. A sheet's name alone means the whole sheet.",
      default: "A:Z",
    },
  },
  credentials: {
    clientId: {
      title: "Client ID",
      description:
        "Google Cloud console → APIs & Services: enable the API under Library, then Credentials → Create credentials → OAuth client ID → Web application. Use the redirect URI that the connection shows.",
    },
    clientSecret: { title: "Client secret", description: "Shown next to the client ID." },
  },
  resources: [
    {
      name: "rows",
      title: "Rows of the range, by columns a to z; what is right of z is a list in beyond_z",
      spec: "/spreadsheets/{{config.spreadsheetId}}/values/{{config.range}}",
      endpoint: {
        params: { valueRenderOption: "UNFORMATTED_VALUE", dateTimeRenderOption: "FORMATTED_STRING" },
        dataPath: CELLS,
        paginator: { type: "none" },
      },
    },
    {
      name: "sheets",
      title: "Sheets of the spreadsheet",
      spec: "/spreadsheets/{{config.spreadsheetId}}",
      primaryKey: ["sheetId"],
      endpoint: {
        params: { fields: "sheets.properties" },
        dataPath: "sheets[].properties",
        paginator: { type: "none" },
      },
    },
  ],
};
