import type { DeepHealth } from "../../src/resources/health/wire.ts";
import type {
  InstallationAccess,
  InstallationUser,
  InstallationUserChange,
  InstallationUserList,
  InstallationUserQuery,
} from "../../src/resources/installation/wire.ts";
import type {
  InstallationOrganization,
  InstallationOrganizationChange,
  InstallationOrganizationList,
  InstallationOrganizationQuery,
} from "../../src/resources/installation/wire-organizations.ts";
import type { AccountData } from "../../src/resources/personal-data/wire.ts";
import type { Asked, Nothing, Of } from "./shape.ts";

/** What operators do with all organizations and users. */
export interface InstallationCalls {
  "GET /api/v1/installation": { reply: Of<typeof InstallationAccess> };
  "GET /api/v1/installation/organizations": {
    query: Asked<typeof InstallationOrganizationQuery>;
    reply: Of<typeof InstallationOrganizationList>;
  };
  "GET /api/v1/installation/organizations/{organization_id}": { reply: Of<typeof InstallationOrganization> };
  "PATCH /api/v1/installation/organizations/{organization_id}": {
    body: Of<typeof InstallationOrganizationChange>;
    reply: Of<typeof InstallationOrganization>;
  };
  "POST /api/v1/installation/organizations/{organization_id}/restore": {
    reply: Of<typeof InstallationOrganization>;
  };
  "GET /api/v1/installation/users": {
    query: Asked<typeof InstallationUserQuery>;
    reply: Of<typeof InstallationUserList>;
  };
  "PATCH /api/v1/installation/users/{user_id}": {
    body: Of<typeof InstallationUserChange>;
    reply: Of<typeof InstallationUser>;
  };
  "DELETE /api/v1/installation/users/{user_id}": { body: { confirm: string }; reply: Nothing };
  "GET /api/v1/installation/users/{user_id}/export": { reply: Of<typeof AccountData> };
  "GET /api/v1/health": { query: { deep: boolean }; reply: Of<typeof DeepHealth> };
}
