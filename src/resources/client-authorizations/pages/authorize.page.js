// Asks the user whether an MCP client may act for them: sign in, review, decide. Runs in the browser.
import { ask, onSubmit, part, show, signIn, t, tell, whoIsHere } from "/sign-in/shared.js";

const SCOPES = {
  read: t("read data and configuration"),
  run: t("run actions and automations"),
  write: t("create and change configuration"),
};

const here = location.pathname + location.search;
const request = Object.fromEntries(new URLSearchParams(location.search));

async function showClient() {
  const asked = await ask("GET", `/api/v1/auth/clients/request${location.search}`);
  if (!asked.isGood) {
    show("done");
    part("outcome").textContent = t("This request can't be approved.");
    return tell(asked.body?.error_description ? [asked.body.error_description] : asked.problem);
  }
  const places = await ask("GET", "/api/v1/users/me/memberships");
  if (!places.isGood) return tell(places.problem);
  const { clientName, clientHost, redirectHost, scopes } = asked.body;
  part("client").textContent = clientName;
  part("host").textContent = clientHost ?? t("itself; nobody has verified its name");
  part("target").textContent = redirectHost;
  part("scopes").textContent = scopes.map((scope) => SCOPES[scope]).join(", ");
  const choice = part("organization");
  choice.replaceChildren(
    ...places.body.items.map(
      ({ organization, role, isCurrent }) =>
        new Option(`${organization.name} (${t(role)})`, organization.id, isCurrent, isCurrent),
    ),
  );
  choice.disabled = places.body.items.length < 2;
  show("confirm");
}

onSubmit(part("confirm"), async (_fields, button) => {
  const approve = button?.value === "approve";
  const organization = part("organization").value;
  const headers = organization ? { "x-organization-id": organization } : {};
  const decided = await ask("POST", "/api/v1/auth/clients/decide", { request, approve }, headers);
  if (decided.body?.code === "sign_in_again") {
    await signIn(here, showClient);
    return tell(decided.problem);
  }
  if (!decided.isGood)
    return tell(decided.body?.error_description ? [decided.body.error_description] : decided.problem);
  show("done");
  part("outcome").textContent = approve
    ? t("Approved. You can close this page.")
    : t("Denied. You can close this page.");
  location.assign(decided.body.redirectTo);
});

if (await whoIsHere()) await showClient();
else await signIn(here, showClient);
