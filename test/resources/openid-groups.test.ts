import { describe, expect, test } from "bun:test";
import { readConfig } from "../../src/config.ts";
import { startWithProvider } from "../support/openid.ts";
import { neighbour } from "../support/people.ts";
import { deepTest } from "../support/scale.ts";

const OWN = "/api/v1/users/me/memberships";
const TEAM = "/api/v1/organizations/team";
const TRUST = { WEIR_OIDC_TRUST_EMAIL: "true" };

/** Entra ID puts an address into the ID token without a claim that it is verified; groups are IDs. */
const entra = (people: Record<string, Record<string, unknown>>) => ({
  claimsInIdToken: true,
  groupsClaim: "groups",
  offline: false,
  people,
});
/** authentik returns names of groups from the userinfo endpoint. */
const authentik = (people: Record<string, Record<string, unknown>>) => ({ groupsClaim: "groups", people });

const grouped = (pairs: string) => ({
  ...TRUST,
  WEIR_OIDC_GROUPS_CLAIM: "groups",
  WEIR_OIDC_GROUP_ROLES: pairs,
});

const ENGINEERS = "8a4f1f4e-92a6-4d1c-b1f0-0c7a1de2a001";

describe("an address that the provider doesn't mark as verified", () => {
  test("is rejected with the name of the setting, and accepted once that is set", async () => {
    const people = { entra: { email: "ada@example.com", given_name: "Ada" } };
    await using strict = await startWithProvider(entra(people));
    const { landing } = await strict.signIn("entra");
    expect([landing.status, landing.body.detail]).toEqual([
      403,
      expect.stringContaining("the operator can set WEIR_OIDC_TRUST_EMAIL=true"),
    ]);
    await using trusting = await startWithProvider(entra(people), { env: TRUST });
    const { call } = await trusting.signIn("entra");
    expect((await call("GET", "/api/v1/users/me")).body.id).toBe(trusting.ids.userId);
  });

  deepTest("stays rejected if the provider says that it isn't verified, in any place", async () => {
    await using weir = await startWithProvider({}, { env: TRUST });
    const refused = await weir.signIn("mallory");
    expect([refused.landing.status, refused.landing.body.detail]).toEqual([
      403,
      expect.stringContaining("hasn't verified"),
    ]);
    await using inToken = await startWithProvider({ claimsInIdToken: true }, { env: TRUST });
    expect((await inToken.signIn("mallory")).landing.status).toBe(403);
  });
});

describe("a user's groups", () => {
  test("give access, assign a role, raise it and revoke it, at sign-in", async () => {
    const ids: Record<string, unknown> = { email: "grace@example.com", groups: [ENGINEERS, "other"] };
    const env = grouped(`${ENGINEERS}=acme:member,leads=acme:admin`);
    await using weir = await startWithProvider(entra({ grace: ids }), { env });
    const first = await weir.signIn("grace");
    expect(first.landing.url.pathname).toBe("/health");
    expect((await first.call("GET", OWN)).body.items).toMatchObject([
      { role: "member", isDefault: true, organization: { slug: "acme" } },
    ]);
    ids.groups = [ENGINEERS, "leads"];
    const second = await weir.signIn("grace");
    expect((await second.call("GET", OWN)).body.items).toMatchObject([{ role: "admin" }]);
    const made = await second.call("POST", "/api/v1/access-tokens", { name: "CI" });
    expect(made.status).toBe(201);
    ids.groups = undefined; // Entra ID leaves the claim out.
    const third = await weir.signIn("grace");
    expect((await third.call("GET", OWN)).body.items).toEqual([]);
    expect((await weir.owner("GET", TEAM)).body.members).toHaveLength(1);
    const bearer = { authorization: `Bearer ${made.body.token}` };
    expect((await weir.anonymous("GET", "/api/v1/users/me", undefined, bearer)).status).toBe(401);
  });

  test("are read from the userinfo endpoint too, and keep manual assignments", async () => {
    const grace: Record<string, unknown> = {
      email: "grace@example.com",
      email_verified: true,
      groups: ["Data Team"],
    };
    const slug = { now: "" };
    const env = grouped("Data Team=acme:owner,Data Team=neighbours:viewer,Guests=acme:viewer");
    await using weir = await startWithProvider(authentik({ grace }), { env });
    const other = await neighbour(weir);
    slug.now = (await other.call("PATCH", "/api/v1/organizations/current", { slug: "neighbours" })).body.slug;
    const body = { email: "grace@example.com", roleSlug: "admin" };
    expect((await other.call("POST", "/api/v1/organizations/invitations", body)).status).toBe(201);
    const { call } = await weir.signIn("grace");
    const roles = async () =>
      (await call("GET", OWN)).body.items.map((item: { role: string; organization: { slug: string } }) => [
        item.organization.slug,
        item.role,
      ]);
    expect(await roles()).toEqual([
      ["acme", "owner"],
      [slug.now, "viewer"],
    ]);
    // An owner of Acme made Ada one manually; a user without groups keeps what she has.
    expect((await (await weir.signIn("ada")).call("GET", OWN)).body.items).toMatchObject([{ role: "owner" }]);
    grace.groups = ["Guests"];
    await weir.signIn("grace");
    expect(await roles()).toEqual([["acme", "viewer"]]);
  });

  test("don't remove an organization's last owner; the log says so", async () => {
    const grace: Record<string, unknown> = {
      email: "grace@example.com",
      email_verified: true,
      groups: ["Owners"],
    };
    await using weir = await startWithProvider(authentik({ grace }), { env: grouped("Owners=acme:owner") });
    const { call } = await weir.signIn("grace");
    const { members } = (await call("GET", TEAM)).body;
    const ada = members.find(({ email }: { email: string }) => email === "ada@example.com");
    expect((await call("DELETE", `${TEAM}/members/${ada.membershipId}`)).status).toBe(204);
    grace.groups = [];
    const again = await weir.signIn("grace");
    expect((await again.call("GET", OWN)).body.items).toMatchObject([{ role: "owner" }]);
    expect(weir.logged.join()).toContain("last owner left the group");
  });

  deepTest("that Entra ID stores elsewhere change nothing, and the log says so", async () => {
    const grace: Record<string, unknown> = { email: "grace@example.com", groups: [ENGINEERS] };
    const env = grouped(`${ENGINEERS}=acme:member,${ENGINEERS}=gone:member`);
    await using weir = await startWithProvider(entra({ grace }), { env });
    await weir.signIn("grace");
    expect(weir.logged.join()).toContain("names an unknown organization");
    delete grace.groups;
    Object.assign(grace, {
      _claim_names: { groups: "src1" },
      _claim_sources: { src1: { endpoint: "https://x" } },
    });
    const { call } = await weir.signIn("grace");
    expect((await call("GET", OWN)).body.items).toMatchObject([{ role: "member" }]);
    expect(weir.logged.join()).toContain("groups not in the ID token");
  });

  deepTest("give no access to users with none of the configured ones", async () => {
    const eve = { email: "eve@example.com", email_verified: true, groups: ["Data", "acme:owner"] };
    await using weir = await startWithProvider(authentik({ eve }), { env: grouped("Data Team=acme:member") });
    expect((await weir.signIn("eve")).landing.status).toBe(403);
  });

  test("are configured by both settings, each pair with an organization and a role", () => {
    const read = (env: Record<string, string>) => () => readConfig({}, env, {});
    expect(read({ WEIR_OIDC_GROUPS_CLAIM: "groups" })).toThrow(
      "or neither. WEIR_OIDC_GROUP_ROLES is missing",
    );
    expect(read({ WEIR_OIDC_GROUP_ROLES: "a=acme:owner" })).toThrow("WEIR_OIDC_GROUPS_CLAIM is missing");
    for (const pair of ["a", "a=acme", "a=acme:king", "=acme:owner", "a=:owner"])
      expect(read({ WEIR_OIDC_GROUPS_CLAIM: "groups", WEIR_OIDC_GROUP_ROLES: pair })).toThrow(
        `Invalid entry in WEIR_OIDC_GROUP_ROLES: "${pair}"`,
      );
    expect(
      read({ WEIR_OIDC_GROUPS_CLAIM: "g", WEIR_OIDC_GROUP_ROLES: "CN=a:b=acme:owner" })().config,
    ).toMatchObject({
      oidcGroupRoles: ["CN=a:b=acme:owner"],
    });
  });
});
