import type { Pages, Service } from "./contract.ts";

const PAGES: Pages = {
  type: "cursor",
  cursorPath: "nextPageToken",
  cursorParam: "pageToken",
  sizeParam: "maxResults",
  pageSize: 250,
};

export const googleCalendar: Service = {
  number: 7,
  slug: "google-calendar",
  name: "Google Calendar",
  description: "Reads and writes calendars and events, by signing in with Google.",
  docs: "https://developers.google.com/workspace/calendar/api/v3/reference",
  baseUrl: "https://www.googleapis.com",
  root: "/calendar/v3",
  auth: {
    type: "oauth2_authorization_code",
    authorizeUrl: "https://accounts.google.com/o/oauth2/v2/auth",
    tokenUrl: "https://oauth2.googleapis.com/token",
    scopes: ["https://www.googleapis.com/auth/calendar"],
    extraParams: { access_type: "offline", prompt: "consent" },
    tokenAuth: "body",
  },
  verify: { path: "/users/me/calendarList?maxResults=1" },
  config: {
    calendarId: {
      title: "Calendar",
      description: "ID of the calendar: in its settings under Integrate calendar. primary is your own.",
      default: "primary",
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
      name: "events",
      title: "Events of the calendar",
      spec: "/calendars/{{config.calendarId}}/events",
      primaryKey: ["id"],
      incremental: { cursorField: "updated" },
      endpoint: {
        params: { orderBy: "updated", showDeleted: "true" },
        dataPath: "items",
        paginator: PAGES,
        incremental: { startParam: "updatedMin", format: "iso" },
      },
    },
    {
      name: "calendars",
      title: "Calendars",
      spec: "/users/me/calendarList",
      primaryKey: ["id"],
      endpoint: { dataPath: "items", paginator: PAGES },
    },
  ],
};
