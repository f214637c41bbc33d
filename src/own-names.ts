/**
 * First segments of Weir's own paths, including the page's.
 * No base path may start with them (test/http/base-path.test.ts).
 */
export const OWN_NAMES =
  "api assets d device docs f forgot health iceberg invitations invite login mcp metrics oauth reset setup sign-in unsubscribe webhooks access actions agents approvals artifacts automation-runs automations bundles catalog chat connections dashboards datasets dead-letters deliveries events installation link organization runs sql team templates".split(
    " ",
  );
