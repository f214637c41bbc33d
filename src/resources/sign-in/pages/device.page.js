// Asks the user whether a client may act for them: sign in, enter the code, review, decide. Runs in the browser.
import { ask, onSubmit, part, show, signIn, t, tell, whoIsHere } from "/sign-in/shared.js";

const given = new URLSearchParams(location.search).get("user_code") ?? "";

/** The next step for a signed-in user. A code from the URL still has to be confirmed by hand. */
function askForCode() {
  part("code").elements.userCode.value = given;
  show("code");
}

onSubmit(part("code"), async ({ userCode }) => {
  const waiting = await ask("GET", `/api/v1/auth/device?user_code=${encodeURIComponent(userCode ?? "")}`);
  if (!waiting.isGood) return tell(waiting.problem);
  const places = await ask("GET", "/api/v1/users/me/memberships");
  if (!places.isGood) return tell(places.problem);
  showClient(waiting.body, places.body.items);
});

function showClient(client, memberships) {
  part("client").textContent = client.clientId;
  part("address").textContent = client.ipAddress ?? t("unknown");
  part("program").textContent = client.userAgent ?? t("unknown");
  part("asked-at").textContent = new Date(client.createdAt).toLocaleString();
  part("shown-code").textContent = client.userCode;
  const choice = part("organization");
  choice.replaceChildren(
    ...memberships.map(
      ({ organization, role, isCurrent }) =>
        new Option(`${organization.name} (${t(role)})`, organization.id, isCurrent, isCurrent),
    ),
  );
  choice.disabled = memberships.length < 2;
  show("confirm");
}

onSubmit(part("confirm"), async (_fields, button) => {
  const approve = button?.value === "approve";
  const organization = part("organization").value;
  const decided = await ask(
    "POST",
    "/api/v1/auth/device/approve",
    { userCode: part("shown-code").textContent, approve },
    organization ? { "x-organization-id": organization } : {},
  );
  if (decided.body?.code === "sign_in_again") {
    await signIn(location.pathname + location.search, askForCode);
    return tell(decided.problem);
  }
  if (!decided.isGood) return tell(decided.problem);
  show("done");
  part("outcome").textContent = approve
    ? t("Device approved. You can close this page.")
    : t("Device denied. You can close this page.");
});

if (await whoIsHere()) askForCode();
else await signIn(location.pathname + location.search, askForCode);
